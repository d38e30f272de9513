"""The list of refused words: what it finds in files that are written by hand, why, and what to say instead."""

import subprocess
import sys
import sysconfig
from pathlib import Path

from tools.refused_words import INSTEAD, main

REPOSITORY = Path(__file__).resolve().parent.parent


def test_refused_words_are_told_with_their_place_and_what_to_say(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "view.ts").write_text("// Takes\nconst lineColour = 1; // Seldom drawn, 60 Frames a second\n")
    (tmp_path / "notes.md").write_text("Mannerly, unseldomly, and the renewal: nothing.\n")
    (tmp_path / "settings.py").write_text('choice(former_names=("colour",))\nx = "grey"  # codespell:ignore\n')
    for hidden in (".venv/a.py", "site/a.md", "web/main_bundle/a.js", "proto/a_pb2.py", "web/a.json"):
        path = tmp_path / hidden
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("anew\n")
    (tmp_path / "again.py").symlink_to(tmp_path / ".venv" / "a.py")
    told = subprocess.run(
        [sys.executable, "-m", "tools.refused_words", tmp_path], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert (told.returncode, told.stdout.splitlines()) == (
        1,
        [
            "page/view.ts:2: 'Colour': British spelling; say: color",
            "page/view.ts:2: 'Seldom': an old word; say: rarely",
            "page/view.ts:2: 'Frames a second': the field writes 'per second'; say: frames per second",
        ],
    )


def test_the_list_is_in_small_letters_and_refuses_nothing_that_it_says() -> None:
    assert [words for words in INSTEAD if words != words.lower()] == []
    stems = [words.strip("*") for words in INSTEAD]
    assert [(stem, instead) for stem in stems for _, instead in INSTEAD.values() if stem in instead] == []


def test_the_repository_says_none_of_them_and_has_no_slips() -> None:
    assert main() == 0
    codespell = Path(sysconfig.get_path("scripts")) / "codespell"
    told = subprocess.run([codespell, "."], cwd=REPOSITORY, capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (0, "")
