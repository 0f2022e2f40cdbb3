"""Packages are whole before a file of theirs is collected: pytest would put the module into its
package in the place of the function that has its name."""

import vaescope.decomposition
import vaescope.geometry
import vaescope.information
import vaescope.latents
import vaescope.metrics
import vaescope.tuning  # noqa: F401
