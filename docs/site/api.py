"""The pages of the reference, from signatures, docstrings and the comments beside fields."""

import inspect
import re
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import public
from public import Public

_TYPES = re.compile(
    r"(?:vaescope|numpy|torch|typing|collections|pathlib|jaxtyping)(?:\.\w+)*\.(?=\w)"
)
_ARRAY = re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)(?:\[Any\])?\]\]")


def write_pages(out: Path) -> None:
    """A page for the package and one for each public module."""
    out.mkdir(exist_ok=True)
    pages = public.modules()
    makers = _makers(pages)
    names = []
    for name, members in pages.items():
        if name:
            lead = inspect.getdoc(import_module(f"vaescope.{name}")) or ""
            text = [f"# vs.{name}", "", lead, ""]
            names.append(name)
        else:
            text = ["# vaescope", "", "`import vaescope as vs`: what stands at the top.", ""]
        for one in sorted(members, key=lambda one: (one.kind != "function", one.name.lower())):
            text += _member(one, makers)
        (out / f"{name or 'vaescope'}.md").write_text(_linked("\n".join(text)), "utf-8")
    index = [
        "# Python reference", "",
        "Written from the docstrings. Each name has its arguments, what it returns and raises, its "
        "source in the literature and an example; the tests run the examples.", "",
        "```{toctree}", ":maxdepth: 1", "", "vaescope", *names, "```", "",
    ]  # fmt: skip
    (out / "index.md").write_text("\n".join(index), "utf-8")


def _linked(text: str) -> str:
    """Addresses that stand in prose as links."""
    parts = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(
            r"(?<![<(`])\bhttps?://[^\s<>)`]*[^\s<>)`.,;:]", r"<\g<0>>", parts[place]
        )
    return "".join(parts)


def _makers(pages: dict[str, list[Public]]) -> dict[str, Public]:
    """Name of a result's class -> a public function that returns it."""
    found: dict[str, Public] = {}
    for members in pages.values():
        for one in members:
            if one.kind == "function":
                returned = inspect.signature(one.value).return_annotation
                for name in re.findall(r"\w+", getattr(returned, "__name__", str(returned))):
                    found.setdefault(name, one)
    return found


def _member(one: Public, makers: dict[str, Public]) -> list[str]:
    doc = one.doc
    if one.kind == "data":
        shown = ", ".join(map(str, one.value)) if isinstance(one.value, dict) else str(one.value)
        return [f"::::::{{py:data}} vs.{one.name}", "", f"Values: {_code(shown)}", "", "::::::", ""]
    lines = [
        f"::::::{{py:{one.kind}}} vs.{one.name}{_signature(one.value)}",
        "",
        _fenced(doc.text),
        "",
    ]
    lines += _arguments(one)
    if doc.returns:
        lines += ["**Returns**", "", doc.returns, ""]
    if doc.raises:
        lines += [
            "**Raises**",
            "",
            *(f"- `{name}`: {said}" for name, said in doc.raises.items()),
            "",
        ]
    if one.kind == "class":
        lines += _methods(one.value)
    example, maker = doc.example, makers.get(one.name.split(".")[-1])
    if not example and one.kind == "class" and maker is not None:
        lines += [f"Returned by {{py:obj}}`vs.{maker.name}`:", ""]
        example = maker.doc.example
    if example and ">>>" not in doc.text:
        lines += ["**Example**", "", _fenced(example), ""]
    source = doc.reference or _first(one.module_doc)
    lines += [f"*{one.value.__module__}*: {source}", "", "::::::", ""]
    return lines


def _signature(value: Any) -> str:
    given = public.parameters(value)
    words, starred = [], False
    for name, one in given.items():
        if one.kind is one.VAR_POSITIONAL:
            words.append(f"*{name}")
            starred = True
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        if one.kind is one.VAR_KEYWORD:
            words.append(f"**{name}")
        elif one.default is one.empty:
            words.append(name)
        else:
            default = repr(one.default)
            words.append(f"{name}={default if len(default) < 30 and '<' not in default else '...'}")
    return f"({', '.join(words)})"


def _arguments(one: Public) -> list[str]:
    given = public.parameters(one.value)
    said = dict(one.doc.args)
    if one.kind == "class" and is_dataclass(one.value):
        said = {
            k: v or public.FIELDS.get(k, "") for k, v in public.comments(one.value).items()
        } | said
    if not given:
        return []
    lines = ["**Arguments**" if one.kind == "function" else "**Fields and arguments**", ""]
    for name, parameter in given.items():
        kind = _type(parameter.annotation)
        lines.append(f"- **{name}**{f' ({kind})' if kind else ''}: {said.get(name) or '-'}")
    return [*lines, ""]


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty or annotation is Any:
        return ""
    text = inspect.formatannotation(annotation) if not isinstance(annotation, str) else annotation
    text = _ARRAY.sub(r"array of \1", _TYPES.sub("", text))
    return _code(text) if len(text) < 90 else ""


def _methods(value: Any) -> list[str]:
    shown = []
    for name, member in vars(value).items():
        callable_ = inspect.isfunction(member) or isinstance(member, staticmethod | classmethod)
        if name.startswith("_") or not (callable_ or isinstance(member, property)):
            continue
        said = _first(inspect.getdoc(getattr(value, name)) or "")
        call = f"{name}{_signature(getattr(value, name))}" if callable_ else name
        shown.append(f"- {_code(call)}{': ' + said if said else ''}")
    return ["**Methods and properties**", "", *shown, ""] if shown else []


def _first(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def _code(text: str) -> str:
    return f"``{text}``" if "`" in text else f"`{text}`"


def _fenced(text: str) -> str:
    """Doctests as blocks of code."""
    lines, inside = [], False
    for line in text.splitlines():
        if line.lstrip().startswith(">>>") and not inside:
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines += ["```"]
            inside = False
        lines.append(line)
    return "\n".join(lines + ["```"] * inside)
