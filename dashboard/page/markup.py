"""Custom components: elements that no callback uses, and components that are created on demand.

Dash examines each of its components whenever anything changes, a hundred times and more while a page opens. Most are
buttons, icons and texts that callbacks neither read nor write: these become one component, which the page's
``web/core/markup.ts`` turns into elements.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Final

from dash.development.base_component import Component

HTML: Final = "dash_html_components"


class Markup(Component):  # type: ignore[misc]
    """Elements, with components at their positions among them.

    Args:
        tree: nodes: a text, an element as ``[tag, attributes, *nodes]``, or the index of a child.
        children: the components.
    """

    _namespace = "stepscope_page"
    _type = "Markup"
    _prop_names = ("children", "tree")
    _valid_wildcard_attributes: tuple[str, ...] = ()

    def __init__(self, tree: list[Any], children: list[Component]) -> None:
        super().__init__(tree=tree, children=children)


class Later(Component):  # type: ignore[misc]
    """A component that is created when the page first requests its id (``want`` of ``web/core/markup.ts``)."""

    _namespace = "stepscope_page"
    _type = "Later"
    _prop_names = ("children", "name")
    _valid_wildcard_attributes: tuple[str, ...] = ()

    def __init__(self, component: Component) -> None:
        super().__init__(name=component.id, children=component)


class MarkupMaker:
    """Converts elements that no callback uses to `Markup`.

    Args:
        callbacks: the callbacks as Dash lists them; all must be registered before the first conversion.
    """

    def __init__(self, callbacks: Sequence[Mapping[str, Any]]) -> None:
        self._callbacks: Final = callbacks

    @cached_property
    def _named(self) -> frozenset[str]:
        """The ids that callbacks name. Components whose ids have parts always stay."""
        named = [one["id"] for callback in self._callbacks for one in (*callback["inputs"], *callback["state"])]
        outputs = [output for callback in self._callbacks for output in callback["output"].strip(".").split("...")]
        return frozenset([*named, *(output.rpartition(".")[0] for output in outputs)])

    def of_answer(self, answer: Any) -> Any:
        """Return the result of a callback with each of its components replaced by as few components as possible."""
        if isinstance(answer, Component):
            return self.of(answer)
        if isinstance(answer, list):
            return [self.of_answer(one) for one in answer]
        return tuple(map(self.of_answer, answer)) if isinstance(answer, tuple) else answer

    def of(self, content: Any) -> Any:
        """Return the content with as few components as possible; the argument is not modified."""
        if not isinstance(content, list | tuple):
            return self._kept(content) if self._stays(content) else self._markup([content])
        parts: list[Any] = []
        for stays, group in groupby(flat(content), self._stays):
            nodes = list(group)
            parts.extend(map(self._kept, nodes) if stays else [self._markup(nodes)])
        return parts

    def _stays(self, content: Any) -> bool:
        """Return whether a part of the content remains a separate component."""
        if not isinstance(content, Component):
            return False
        name = getattr(content, "id", "")
        return content._namespace != HTML or not isinstance(name, str) or name in self._named

    def _kept(self, component: Component) -> Component:
        """Return a copy of a component with its content converted to `Markup`."""
        kept = copy.copy(component)
        for place in ("children", *component._children_props):
            content = getattr(component, place, None)
            if isinstance(content, Component | list | tuple):
                setattr(kept, place, self.of(content))
        return kept

    def _markup(self, nodes: Sequence[Any]) -> Any:
        if all(isinstance(node, str) for node in nodes):
            return "".join(nodes)
        slots: list[Component] = []
        return Markup([self._node(node, slots) for node in nodes], slots)

    def _node(self, content: Any, slots: list[Component]) -> Any:
        if not isinstance(content, Component):
            return str(content)
        if self._stays(content):
            slots.append(self._kept(content))
            return len(slots) - 1
        attributes = content.to_plotly_json()["props"]
        children = attributes.pop("children", None)
        return [content._type.lower(), attributes, *(self._node(node, slots) for node in flat([children]))]


def flat(content: Sequence[Any]) -> Iterator[Any]:
    """Yield the items of nested lists, without None, True and False, for which React draws nothing."""
    for part in content:
        if isinstance(part, list | tuple):
            yield from flat(part)
        elif part is not None and not isinstance(part, bool):
            yield part
