"""What a training on the digits logs beside the scalars of its steps."""

import time
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sample_logs.network import Array, Digits, Hyperparameters, Labels, Network, accuracy, cross_entropy
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.audio import audio
from stepscope.summary.kinds.hparams import session_end
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import SessionEndInfo
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.v2 import hp

PR_DIGITS: Final = (1, 3, 8)
PR_THRESHOLDS: Final = 51
SAMPLE_RATE: Final = 8_000
SECONDS: Final = 1.5
DIGIT_COLORS: Final = (
    ("blue", (31, 119, 180)),
    ("orange", (255, 127, 14)),
    ("green", (44, 160, 44)),
    ("red", (214, 39, 40)),
    ("purple", (148, 103, 189)),
    ("brown", (140, 86, 75)),
    ("pink", (227, 119, 194)),
    ("gray", (127, 127, 127)),
    ("olive", (188, 189, 34)),
    ("cyan", (23, 190, 207)),
)
"""Name and red, green and blue of the points of each digit."""

HPARAMS: Final = (
    hp.HParam("learning_rate", hp.RealInterval(0.0, 10.0), "learning rate"),
    hp.HParam("momentum", hp.RealInterval(0.0, 1.0)),
    hp.HParam("hidden", hp.IntInterval(1, 1024), "hidden units"),
    hp.HParam("batch", hp.IntInterval(1, 1347), description="images per step"),
    hp.HParam("optimizer", hp.Discrete(["sgd", "momentum"])),
    hp.HParam("seed", hp.IntInterval(0, 2**31)),
)
METRICS: Final = (
    hp.Metric("accuracy/validation", dataset_type=hp.Metric.VALIDATION, description="share of the 450 test images"),
    hp.Metric("loss/validation", dataset_type=hp.Metric.VALIDATION, description="cross entropy in nats"),
)
LAYOUT: Final = {
    "Generalization": {
        "loss": ["Multiline", ["loss/train", "loss/validation"]],
        "accuracy over the ten digits": [
            "Margin",
            ["digits/accuracy mean", "digits/accuracy min", "digits/accuracy max"],
        ],
    }
}


def log_start(writer: SummaryWriter, chosen: Hyperparameters, trial: str) -> None:
    """Log what the run was given: its hyperparameters, a text of them, and the layout of its charts.

    Args:
        writer: the run's.
        chosen: the hyperparameters.
        trial: runs of one trial are sessions of one group.
    """
    values = {
        "learning_rate": chosen.learning_rate,
        "momentum": chosen.momentum,
        "hidden": chosen.hidden,
        "batch": chosen.batch,
        "optimizer": chosen.optimizer,
        "seed": chosen.seed,
    }
    writer.add_summary(hp.hparams_config_pb(HPARAMS, METRICS))
    writer.add_summary(hp.hparams_pb(values, trial))
    writer.add_custom_scalars(LAYOUT)
    writer.add_text(
        "config",
        f"**digits**, two layers\n\n- learning rate {chosen.learning_rate}\n- momentum {chosen.momentum}"
        f"\n- hidden units {chosen.hidden}\n- batch {chosen.batch}\n- seed {chosen.seed}",
        0,
    )


def log_end(writer: SummaryWriter, step: int, succeeded: bool) -> None:
    """Log how the session ended, and when."""
    status = hparams_pb2.STATUS_SUCCESS if succeeded else hparams_pb2.STATUS_FAILURE
    end = SessionEndInfo(status=status, end_time_secs=time.time())
    writer.add_summary(Summary(value=[session_end(end)]), step)


def log_scores(writer: SummaryWriter, probabilities: Array, labels: Labels, step: int) -> float:
    """Log loss and accuracy on the test images, of all and by digit; returns the loss."""
    loss = cross_entropy(probabilities, labels)
    by_digit = [accuracy(probabilities[labels == digit], labels[labels == digit]) for digit in range(10)]
    writer.add_scalar("loss/validation", loss, step)
    writer.add_scalar("accuracy/validation", accuracy(probabilities, labels), step)
    writer.add_scalar("digits/accuracy mean", float(np.mean(by_digit)), step)
    writer.add_scalar("digits/accuracy min", min(by_digit), step)
    writer.add_scalar("digits/accuracy max", max(by_digit), step)
    return loss


def log_media(writer: SummaryWriter, network: Network, digits: Digits, probabilities: Array, step: int) -> None:
    """Log histograms, pictures, texts and PR curves; ``probabilities`` are those of the test images."""
    labels = digits.test_labels
    for name, value in network.parameters.items():
        writer.add_histogram(f"weights/{name}", value, step, bins="auto")
    kernels = network.parameters["hidden/kernel"].T.reshape(-1, 8, 8)
    scaled = np.clip(0.5 + kernels / 2, 0, 1, dtype=np.float32)
    writer.add_image("features/hidden", tiles(scaled, columns=12), step, dataformats="HW")
    doubtful = np.argsort(probabilities[np.arange(len(labels)), labels])[:8]
    writer.add_images("digits/hardest", digits.test_images[doubtful].reshape(-1, 8, 8, 1), step, dataformats="NHWC")
    rows = [["digit", "taken for", "with probability"]] + [
        [str(labels[i]), str(probabilities[i].argmax()), f"{probabilities[i].max():.2f}"] for i in doubtful
    ]
    writer.add_text("hardest digits", "\n".join(" | ".join(row) for row in [rows[0], ["---"] * 3, *rows[1:]]), step)
    writer.add_text("mistakes", mistakes(probabilities, labels), step)
    for digit in PR_DIGITS:
        writer.add_pr_curve(f"pr/{digit} or not", labels == digit, probabilities[:, digit], step, PR_THRESHOLDS)
    # Of all pairs of an image and a digit, which is the micro average over the digits.
    one_hot = labels[:, np.newaxis] == np.arange(10)
    writer.add_pr_curve("pr/all digits", one_hot, probabilities, step, PR_THRESHOLDS)


def mistakes(probabilities: Array, labels: Labels) -> str:
    """Markdown: how many images are taken for another digit, and which pairs are confused most."""
    taken_for = probabilities.argmax(axis=1)
    wrong = taken_for != labels
    pairs, counts = np.unique(np.stack([labels[wrong], taken_for[wrong]]), axis=1, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:6]
    lines = [f"- **{pairs[0, at]}** taken for **{pairs[1, at]}**: {counts[at]}" for at in most]
    heading = f"### {wrong.sum()} of {len(labels)} test images are taken for another digit"
    return "\n".join([heading, "", *lines, "", f"Loss {cross_entropy(probabilities, labels):.3f} nats."])


def log_points(writer: SummaryWriter, activation: Array, labels: Labels, step: int, before: Array | None) -> Array:
    """Log the hidden units' activation at each test image as a point colored by its digit.

    Args:
        writer: the run's.
        activation: float32 [images, units].
        labels: the digits.
        step: the step.
        before: the points of an earlier step, which these are turned to; None at first.

    Returns:
        The points: float32 [images, 3].
    """
    points = principal_components(activation)
    if before is not None:
        points = turned(points, before)
    colors = np.array([color for _, color in DIGIT_COLORS], np.uint8)[labels]
    writer.add_mesh("digits/activation", points, colors, global_step=step)
    if before is None:
        key = ", ".join(f"{digit} {name}" for digit, (name, _) in enumerate(DIGIT_COLORS))
        writer.add_text("colors of the points", f"In the mesh `digits/activation`: {key}.", step)
    return points


def principal_components(rows: Array) -> Array:
    """Return the rows in the three directions in which they vary most, around their mean: float32 [rows, 3]."""
    centered = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    return np.asarray(left[:, :3] * sizes[:3], np.float32)


def turned(points: Array, target: Array) -> Array:
    """Return the points in the rotation or reflection that brings them nearest to ``target``, both [n, 3].

    The signs and the order of principal components may change from step to step, the cloud shall not jump. The
    rotation is that of P. Schönemann, A generalized solution of the orthogonal Procrustes problem, 1966.
    """
    left, _, right = np.linalg.svd(points.T @ target)
    return np.asarray(points @ (left @ right), np.float32)


def log_images(writer: SummaryWriter, digits: Digits) -> None:
    """Log all images as points of 64 dimensions, with their digits and the pictures themselves."""
    images = np.concatenate([digits.train_images, digits.test_images])
    rows = [[digit, "train"] for digit in digits.train_labels] + [[digit, "test"] for digit in digits.test_labels]
    pictures = 1 - images.reshape(-1, 1, 8, 8)
    writer.add_embedding(
        images, rows, pictures, 0, "digits/images", metadata_header=["digit", "part"], tensor_format="float32"
    )


def log_embedding(writer: SummaryWriter, activation: Array, digits: Digits, probabilities: Array, step: int) -> None:
    """Log the hidden units' activation at each test image as a point, with what the network makes of the image.

    Args:
        writer: the run's.
        activation: float32 [images, units].
        digits: whose test images these are.
        probabilities: float32 [images, 10].
        step: the step.
    """
    labels, taken_for = digits.test_labels, probabilities.argmax(axis=1)
    certain = probabilities[np.arange(len(labels)), labels]
    rows = [
        [label, other, "right" if label == other else "wrong", f"{share:.4f}"]
        for label, other, share in zip(labels, taken_for, certain, strict=True)
    ]
    header = ["digit", "taken for", "verdict", "probability"]
    pictures = 1 - digits.test_images.reshape(-1, 1, 8, 8)
    writer.add_embedding(
        activation, rows, pictures, step, "digits/hidden", metadata_header=header, tensor_format="float32"
    )


def log_sound(writer: SummaryWriter, losses: list[float], step: int) -> None:
    """Log the training losses so far as a tone of 1.5 seconds, with a label that says how to hear it."""
    value = audio("sound/training loss", tone(np.array(losses)), SAMPLE_RATE)
    label = f"Training loss up to step **{step}**: 880 Hz is a loss of 1, an octave lower is a tenth of it."
    value.tensor.string_val[1] = label.encode()
    writer.add_summary(Summary(value=[value]), step)


def tone(losses: NDArray[np.float64]) -> Array:
    """Return a tone with one overtone whose pitch goes through the losses: float32 [frames] in -1..1."""
    mean_of = min(20, len(losses))
    smooth = np.convolve(losses, np.full(mean_of, 1 / mean_of), mode="valid")
    frames = int(SECONDS * SAMPLE_RATE)
    places = np.linspace(0, len(smooth) - 1, frames)
    logarithm = np.interp(places, np.arange(len(smooth)), np.log10(smooth + 1e-6))
    phase = 2 * np.pi * np.cumsum(880 * 2**logarithm) / SAMPLE_RATE
    fade = np.minimum(1, np.minimum(np.arange(frames), np.arange(frames)[::-1]) / (0.03 * SAMPLE_RATE))
    return np.asarray(fade * (0.6 * np.sin(phase) + 0.2 * np.sin(2 * phase)), np.float32)


def tiles(images: Array, columns: int) -> Array:
    """Return pictures [n, height, width] side by side in one, with a border of one pixel."""
    padded = np.pad(images, ((0, 0), (0, 1), (0, 1)), constant_values=1.0)
    rows = len(images) // columns
    grid = padded[: rows * columns].reshape(rows, columns, *padded.shape[1:])
    return np.asarray(grid.transpose(0, 2, 1, 3).reshape(rows * padded.shape[1], -1), np.float32)
