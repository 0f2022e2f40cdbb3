"""Code of the pages, made small: fewer steps, seeds and images, otherwise as it stands."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Pages whose Python runs from top to bottom as it stands.
DOCS = ROOT / "docs"
PAGES = [DOCS / "start.md", *sorted([*DOCS.glob("guides/*.md"), *DOCS.glob("explanations/*.md")])]
_STEPS, _SEEDS = 10, 2


def blocks(path: Path, *languages: str) -> list[str]:
    """Blocks of code of these languages, in their order."""
    text = path.read_text("utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for language, block in found if language in languages]


class _Small(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        ours = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "vs"
        name = node.func.attr if ours and isinstance(node.func, ast.Attribute) else ""
        if name in ("train", "VAEEstimator"):
            _set(node, "steps", _STEPS)
        elif name == "compare":
            _set(node, "images", False)
        elif name == "inspect":
            _set(node, "effort", "latents")
        elif name == "tune_beta":
            _set(node, "round_steps", 5)
        elif name == "how_many_latents":
            _set(node, "steps", _STEPS)
            _set(node, "most", 4)
        elif name == "effective_beta":
            _set(node, "rows", 50)
        elif isinstance(node.func, ast.Name) and node.func.id == "product":
            (axes,) = [one for one in node.args if isinstance(one, ast.Dict)]
            axes.keys.append(ast.Constant("steps"))
            axes.values.append(ast.parse(f"[{_STEPS}]", mode="eval").body)
        elif isinstance(node.func, ast.Name) and node.func.id == "range":
            count = node.args[-1]
            if isinstance(count, ast.Constant) and count.value in (3, 4):
                count.value = _SEEDS
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        self.generic_visit(node)
        keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
        if keys == ["shape", "orientation"]:  # a grid of sprites: every fourth place
            for name in ("x", "y"):
                node.keys.append(ast.Constant(name))
                node.values.append(ast.parse("list(range(0, 32, 4))", mode="eval").body)
        if "steps" in keys:
            place = keys.index("steps")
            node.values[place] = ast.parse(f"[{_STEPS}]", mode="eval").body
        return node


def _set(call: ast.Call, name: str, value: object) -> None:
    call.keywords = [one for one in call.keywords if one.arg != name]
    call.keywords.append(ast.keyword(name, ast.Constant(value)))


def small(source: str, where: str) -> ast.Module:
    """The block as a tree to be compiled."""
    return ast.fix_missing_locations(_Small().visit(ast.parse(source, where)))
