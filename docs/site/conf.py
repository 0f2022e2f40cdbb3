"""How Sphinx builds the site: MyST Markdown, Furo, nothing from the network."""

from vaescope import __version__

project = "vaescope"
author = "the vaescope authors"
copyright = "the vaescope authors, Apache-2.0"  # noqa: A001
version = release = __version__
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["results/studies/*.json"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
pygments_dark_style = "github-dark"  # Furo's own underlines every name of a module
html_title = f"vaescope {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
copybutton_prompt_text = ">>> |... |$ "
copybutton_prompt_is_regexp = True
# Pages that are reached by links, not from the sidebar.
html_theme_options = {"navigation_with_keys": True}
nitpicky = False
