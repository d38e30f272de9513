"""The core needs no framework, and an integration reports what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout


def test_the_core_imports_no_framework() -> None:
    frameworks = ("keras", "torch", "tensorflow", "lightning", "pytorch_lightning", "transformers")
    code = "import sys, stepscope.summary.hooks, stepscope.summary.integrations, stepscope.profiler.integrations"
    assert python(f"{code}; print(*set({frameworks}) & set(sys.modules))").split() == []


@pytest.mark.parametrize(
    ("module", "frameworks", "advice"),
    [
        (
            "stepscope.profiler.integrations.keras",
            ["keras"],
            "needs Keras 3 and one of its backends: pip install 'keras>=3'",
        ),
        (
            "stepscope.summary.integrations.lightning",
            ["lightning", "pytorch_lightning"],
            "needs Lightning 2: pip install lightning, or pytorch-lightning",
        ),
        (
            "stepscope.summary.integrations.huggingface",
            ["transformers"],
            "needs Transformers: pip install 'transformers[torch]'",
        ),
        (
            "stepscope.summary.integrations.accelerate",
            ["accelerate.tracking"],
            "needs Accelerate: pip install accelerate",
        ),
        ("stepscope.summary.integrations.xgboost", ["xgboost"], "needs XGBoost: pip install xgboost"),
        (
            "stepscope.summary.integrations.stable_baselines3",
            ["stable_baselines3.common.logger"],
            "needs Stable-Baselines3: pip install stable-baselines3",
        ),
    ],
)
def test_an_integration_says_what_to_install(module: str, frameworks: list[str], advice: str) -> None:
    # None in sys.modules makes an import fail as if nothing were installed.
    absent = f"import sys; sys.modules.update(dict.fromkeys({frameworks!r}))"
    code = f"{absent}\ntry:\n    import {module}\nexcept ImportError as error:\n    print(error)"
    assert python(code).startswith(f"{module} {advice}")
