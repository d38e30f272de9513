from stepscope.dashboard.graphs.model import model_of
from stepscope.dashboard.graphs.scene import SceneEdge, first_look, scene_of
from stepscope.dashboard.graphs.tree import tree_of
from stepscope.summary.proto.graph_pb2 import GraphDef
from tests.dashboard.graphs.build import call, function, graph, scene_lines, shown, tree

NESTED = """
x Placeholder: | FLOAT 2,3
a/b/one Neg: x | FLOAT 2,3
a/b/two Neg: a/b/one | FLOAT 2,3
a/c Add: a/b/two a/b/one ^x | FLOAT 2,3
y Neg: a/c ^a/b/two | FLOAT 2,3
"""


def test_closed_groups_stand_for_what_is_inside() -> None:
    assert scene_lines(NESTED) == ["x [op 1]", "a [group 3]", "y [op 1]", "x -> a", "a -> y"]


def test_groups_open_in_place() -> None:
    assert scene_lines(NESTED, "a") == [
        "x [op 1]",
        "a* [group 3]",
        "a/b [group 2]",
        "a/c [op 1]",
        "y [op 1]",
        "x -> a/b",
        "x ~> a/c",
        "a/b -> a/c",
        "a/b ~> y",
        "a/c -> y",
    ]
    assert scene_lines(NESTED, "a", "a/b")[2:5] == ["a/b* [group 2]", "a/b/one [op 1]", "a/b/two [op 1]"]


def test_a_group_is_open_only_if_those_around_it_are() -> None:
    assert scene_lines(NESTED, "a/b", "gone") == scene_lines(NESTED)


def test_a_first_look_opens_levels_while_few_nodes_are_visible() -> None:
    assert first_look(tree(NESTED)) == {"a", "a/b"}
    ten_of_seven = "".join(f"a/{first}/{second} Neg:\n" for first in "bcdefghijk" for second in "lmnopqr")
    assert first_look(tree("x Neg:\n" + ten_of_seven)) == {"a"}
    many = "".join(f"a/{first}{second} Neg:\n" for first in "bcdefghijk" for second in "lmnopqr")
    assert first_look(tree("x Neg:\n" + many)) == frozenset()
    assert first_look(tree(many)) == {"a"}, "a single group at the top would be a single box"


def test_edges_say_what_they_hand_on() -> None:
    scene = scene_of(tree(NESTED), frozenset({"a"}))

    assert scene.edges == (
        SceneEdge("x", "a/b", False, False, 1, 24, "float32 2×3"),
        SceneEdge("x", "a/c", True, False, 0, None, ""),
        SceneEdge("a/b", "a/c", False, False, 2, 48, "2 tensors"),
        SceneEdge("a/b", "y", True, False, 0, None, ""),
        SceneEdge("a/c", "y", False, False, 1, 24, "float32 2×3"),
    )


def test_a_tensor_that_goes_to_two_nodes_of_a_group_is_one() -> None:
    scene = scene_of(tree("x Placeholder: | FLOAT 4\ng/a Neg: x\ng/b Neg: x"))

    assert scene.edges == (SceneEdge("x", "g", False, False, 1, 16, "float32 4"),)


def test_a_node_that_is_also_a_scope_lies_in_it_in_parentheses() -> None:
    lines = scene_lines("x Placeholder:\na Add: x\na/b Neg: a", "a")

    assert lines == ["x [op 1]", "a* [group 2]", "a/(a) [op 1]", "a/b [op 1]", "x -> a/(a)", "a/(a) -> a/b"]


def test_five_alike_siblings_with_consecutive_numbers_are_a_series() -> None:
    text = "x Placeholder:\n" + "\n".join(f"net/conv_{i} Conv2D: x" for i in range(1, 6))

    assert scene_lines(text, "net") == [
        "x [op 1]",
        "net* [group 5]",
        "net/conv_[1-5] [series 5]",
        "x -> net/conv_[1-5]",
    ]
    assert scene_lines(text, "net", "net/conv_[1-5]")[3:5] == ["net/conv_1 [op 1]", "net/conv_2 [op 1]"]
    assert "net/conv_[1-5] [series 5]" not in scene_lines(text.replace("conv_3 Conv2D", "conv_3 Add"), "net")
    assert "net/conv_4 [op 1]" in scene_lines(text.replace("conv_3", "conv_9"), "net")


def test_the_first_of_a_series_may_have_no_number() -> None:
    text = "\n".join(f"conv{end} Conv2D:" for end in ("", "_1", "_2", "_3", "_4"))

    assert scene_lines(text) == ["conv_[0-4] [series 5]"]


def test_groups_of_the_same_structure_are_a_series() -> None:
    def block(i: int) -> str:
        return f"Block[{i}]/a Neg: Block[{i - 1}]/b\nBlock[{i}]/b Relu: Block[{i}]/a"

    text = "Block[0]/a Neg:\nBlock[0]/b Relu: Block[0]/a\n" + "\n".join(block(i) for i in range(1, 6))
    assert scene_lines(text) == ["Block[0-5] [series 12]"]
    other = text.replace("Block[3]/b Relu: Block[3]/a", "Block[3]/b Relu: Block[2]/a")
    assert len(scene_lines(other)) == 11


def test_equal_numbers_are_alike_subtrees() -> None:
    found = scene_of(tree("a/x Neg:\na/y Relu: a/x\nb/p Neg:\nb/q Relu: b/p\nc/p Neg:\nc/q Relu:")).nodes

    assert found[0].structure == found[1].structure
    assert found[0].structure != found[2].structure


def test_constants_and_variables_are_folded_into_what_they_belong_to() -> None:
    lines = scene_lines(
        """
        x Placeholder:
        w VariableV2: | FLOAT 3,4
        w/init Const:
        w/Assign Assign: w w/init
        w/read Identity: w
        y MatMul: x w/read
        axis Const:
        z Mean: y axis
        u Sum: y axis
        """
    )

    assert lines == ["x [op 1]", "y [op 1] +w", "z [op 1] +axis", "u [op 1] +axis", "x -> y", "y -> z", "y -> u"]


def test_what_was_folded_can_be_brought_back() -> None:
    text = "x Placeholder:\naxis Const:\nz Mean: x axis\nu Sum: x axis"

    assert scene_lines(text, back=("axis",)) == [
        "x [op 1]",
        "axis [op 1]",
        "z [op 1]",
        "u [op 1]",
        "x -> z",
        "x -> u",
        "axis -> z",
        "axis -> u",
    ]


def test_summaries_are_folded_into_what_they_summarize() -> None:
    lines = scene_lines(
        "x Placeholder:\nloss Mean: x\ntag Const:\ns ScalarSummary: tag loss\nm MergeSummary: s\nopt Neg: loss"
    )

    assert lines == ["x [op 1]", "loss [op 1] +tag +s +m", "opt [op 1]", "x -> loss", "loss -> opt"]


def test_other_edges_of_what_is_folded_become_those_of_its_host() -> None:
    lines = scene_lines("x Placeholder:\nr ReadVariableOp: x\ny MatMul: r\nstep NoOp: ^y\nend Print: ^step")

    assert lines == ["x [op 1]", "y [op 1] +r", "end [op 1] +step", "x -> y", "y ~> end"]


def test_the_initialization_of_all_variables_is_set_aside() -> None:
    lines = scene_lines("v VariableV2:\nc Const:\na Assign: v c\ny Neg: v\ninit NoOp: ^a")

    assert lines == ["y [op 1] +v +c +a", "init! [op 1]"]


def test_nodes_of_a_far_higher_degree_than_their_siblings_are_set_aside() -> None:
    text = "hub Placeholder:\n" + "\n".join(f"n{i}{'a' * i} Neg: hub" for i in range(20)) + "\nall AddN: n0 n1a n2aa"

    assert scene_lines(text)[:2] == ["hub! [op 1]", "n0 [op 1]"]
    assert scene_lines(text)[-3:] == ["n0 -> all", "n1a -> all", "n2aa -> all"]
    assert "hub -> n0" in scene_lines(text, back=("hub",))


def test_entries_can_be_set_aside_by_hand() -> None:
    assert scene_lines(NESTED, "a", aside=("a",)) == ["x [op 1]", "a! [group 3]", "y [op 1]"]


def _with_function(*called: str) -> GraphDef:
    graph_def = graph("x Placeholder:")
    for number, name in enumerate(called):
        call(graph_def, f"call{number}", "PartitionedCall", ["x"], f=name)
    call(graph_def, "y", "Neg", [f"call{len(called) - 1}"])
    return graph_def


def test_a_call_of_a_function_opens_into_its_body() -> None:
    graph_def = _with_function("f")
    graph_def.library.function.append(function("f", ["a"], {"r": "n:y:0"}, "n Neg: a"))
    opened = tree_of(model_of(graph_def))

    assert shown(scene_of(opened)) == ["x [op 1]", "call0 [function 4]", "y [op 1]", "x -> call0", "call0 -> y"]
    assert shown(scene_of(opened, frozenset({"call0"}))) == [
        "x [op 1]",
        "call0* [function 4]",
        "call0/a [op 1]",
        "call0/n [op 1]",
        "call0/r_RetVal [op 1]",
        "y [op 1]",
        "x -> call0/a",
        "call0/a -> call0/n",
        "call0/n -> call0/r_RetVal",
        "call0/r_RetVal -> y",
    ]


def test_a_function_that_calls_itself_is_told_and_left_closed() -> None:
    graph_def = _with_function("f")
    body = function("f", ["a"], {"r": "again:output:0"}, "")
    inner = body.node_def.add(name="again", op="PartitionedCall", input=["a"])
    inner.attr["f"].func.name = "f"
    graph_def.library.function.append(body)
    opened = tree_of(model_of(graph_def))

    assert [(p.kind, p.count, p.examples) for p in opened.problems] == [("recursion", 1, ("f in again",))]
    assert "call0/again [op 1]" in shown(scene_of(opened, frozenset({"call0"})))


def test_functions_that_grow_without_measure_are_left_closed() -> None:
    graph_def = _with_function("f0")
    for level in range(40):
        body = function(f"f{level}", ["a"], {"r": "two:output:0"}, "")
        for name, given in (("one", "a"), ("two", "one:output:0")):
            inner = body.node_def.add(name=name, op="PartitionedCall", input=[given])
            inner.attr["f"].func.name = f"f{level + 1}"
        graph_def.library.function.append(body)
    graph_def.library.function.append(function("f40", ["a"], {"r": "a"}, ""))
    opened = tree_of(model_of(graph_def), most_nodes=1_000)

    assert len(opened.model) <= 1_000
    assert [p.kind for p in opened.problems] == ["too large"]


def test_loops_and_branches_have_a_scope_for_each_function() -> None:
    graph_def = graph("n Placeholder:\nx Placeholder:")
    call(graph_def, "loop", "While", ["n", "x"], cond="c", body="b")
    call(graph_def, "y", "Neg", ["loop:1"])
    graph_def.library.function.append(function("c", ["i", "v"], {"go": "less:z:0"}, "less Less: i v"))
    graph_def.library.function.append(function("b", ["i", "v"], {"i1": "i", "v1": "v"}, ""))
    lines = shown(scene_of(tree_of(model_of(graph_def)), frozenset({"loop", "loop/body"})))

    assert lines == [
        "n [op 1]",
        "x [op 1]",
        "loop* [function 9]",
        "loop/body* [group 4]",
        "loop/body/i [op 1]",
        "loop/body/v [op 1]",
        "loop/body/i1_RetVal [op 1]",
        "loop/body/v1_RetVal [op 1]",
        "loop/cond [group 4]",
        "y [op 1]",
        "n -> loop/body/i",
        "n -> loop/cond",
        "x -> loop/body/v",
        "x -> loop/cond",
        "loop/body/i -> loop/body/i1_RetVal",
        "loop/body/v -> loop/body/v1_RetVal",
        "loop/body/v1_RetVal -> y",
    ]
