import random

import pytest

from stepscope.dashboard.panels.tag_order import MOST_LEVELS, section_path, shown_tag, tag_order


@pytest.mark.parametrize(
    ("tag", "path"),
    [
        ("loss", ()),
        ("train/loss", ("train",)),
        ("a/b/c", ("a", "a/b")),
        ("model.layers.0.q_proj/norm", ("model", "model.layers", "model.layers.0", "model.layers.0.q_proj")),
        ("features.0.1.weight", ("features", "features.0", "features.0.1")),
        # Dots in numbers, sentences and paths divide nothing.
        ("metrics/mAP_0.5:0.95", ("metrics",)),
        ("v1.2/loss", ("v1.2",)),
        ("0.1/loss", ("0.1",)),
        ("Fig. 3 shows", ()),
        ("../x", ("..",)),
        ("a..b", ()),
        # Nor do separators with nothing before or after them.
        ("/x", ()),
        ("a//b", ("a",)),
        ("a/", ()),
        ("", ()),
        # The suffix that writers give to texts is not part of their name.
        ("notes/text_summary", ()),
        ("a/notes/text_summary", ("a",)),
    ],
)
def test_names_are_divided_at_slashes_and_at_dots_between_words(tag: str, path: tuple[str, ...]) -> None:
    assert section_path(tag) == path


def test_sections_within_each_other_have_a_bound() -> None:
    assert len(section_path("a." * 50_000 + "b")) == MOST_LEVELS


@pytest.mark.parametrize(
    "ordered",
    [
        ["train/loss", "val/loss", "eval/loss", "test/loss", "loss/x", "accuracy/x", "aaa/x"],
        ["Training loss", "Validation_loss", "epoch_loss", "epoch_accuracy", "batch"],
        ["train/loss", "train/accuracy", "train/a", "train/lr"],
        ["train/loss", "loss", "lr", "model.layers.2.weight", "model.layers.10.weight", "optim/lr"],
        ["layer2/w", "layer10/w", "layer10/w1.5", "layer10/w1.15"],
        ["meanReward", "system/gpu.0.util", "system/gpu.1.util"],
        ["A", "b", "C"],
    ],
)
def test_what_people_look_at_first_stands_first_and_numbers_count(ordered: list[str]) -> None:
    shuffled = ordered[:]
    random.Random(3).shuffle(shuffled)
    assert sorted(shuffled, key=tag_order) == ordered


def test_texts_are_shown_without_the_end_that_writers_give_them() -> None:
    tags = ("notes/text_summary", "a/notes/text_summary", "/text_summary", "notes", "")
    assert [shown_tag(tag) for tag in tags] == ["notes", "a/notes", "/text_summary", "notes", "(empty tag)"]
