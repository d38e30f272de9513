"""Peak performance of common devices, as stated by their makers: arithmetic by number type, and memory bandwidth.

Figures are dense (without structured sparsity), at boost clocks, accumulated in float32, on tensor or matrix cores if a
device has them for the type. Figures that a source states with sparsity are halved; each device of a card with two
devices, such as the MI250X, has half.
"""

import re
from typing import Any, Final, Literal, NamedTuple

Precision = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8"]
PRECISIONS: Final[dict[Precision, str]] = {
    "fp64": "FP64",
    "fp32": "FP32",
    "tf32": "TF32",
    "fp16": "FP16",
    "bf16": "BF16",
    "fp8": "FP8",
}
"""Number types and their display names."""


class DevicePeaks(NamedTuple):
    """A device's peaks in TFLOP/s by number type; None if it has no arithmetic of that type or no peak is stated."""

    name: str
    fp64: float | None
    fp32: float | None
    tf32: float | None
    fp16: float | None
    bf16: float | None
    fp8: float | None
    gb_per_s: float
    """0 if not known."""
    source: str

    def flops(self, precision: Precision) -> float | None:
        """Return the peak for a number type in FLOP/s."""
        # Devices with tensor cores but no TF32 compute float32 on them in float16.
        found: float | None = self.tf32 or self.fp16 if precision == "tf32" else getattr(self, precision)
        return None if found is None else found * 1e12

    @property
    def bytes_per_s(self) -> float | None:
        """The peak of its memory, None if not known."""
        return self.gb_per_s * 1e9 or None


class StatedPeaks(NamedTuple):
    """Peaks stated by the user; None if not stated."""

    tflops: float | None = None
    """TFLOP/s, for all number types."""
    gb_per_s: float | None = None

    def over(self, known: DevicePeaks | None) -> DevicePeaks | None:
        """Return the known peaks of a device overridden by these; None if nothing is known or stated."""
        if self.tflops is None and self.gb_per_s is None:
            return known
        base = known or DevicePeaks("the device", None, None, None, None, None, None, 0, "")
        numbers: dict[str, Any] = {} if self.tflops is None else dict.fromkeys(PRECISIONS, self.tflops)
        stated = base._replace(**numbers, gb_per_s=self.gb_per_s or base.gb_per_s)
        return stated._replace(source=f"as stated; {base.source}" if base.source and not self.complete else "as stated")

    @property
    def complete(self) -> bool:
        """Whether both are stated."""
        return self.tflops is not None and self.gb_per_s is not None


NOT_STATED: Final = StatedPeaks()

_PASCAL: Final = "NVIDIA Tesla P100 data sheet (2016)"
_VOLTA: Final = "NVIDIA V100 Tensor Core GPU data sheet (2020)"
_TURING: Final = "NVIDIA Turing GPU architecture white paper (WP-09183-001), appendices"
_T4: Final = "NVIDIA T4 Tensor Core GPU product brief (PB-09256-001)"
_A100: Final = "NVIDIA A100 Tensor Core GPU data sheet (2021)"
_GA102: Final = "NVIDIA Ampere GA102 GPU architecture white paper, appendix A"
_HOPPER: Final = "NVIDIA H100 Tensor Core GPU data sheet (2022)"
_HOPPER_NVL: Final = "NVIDIA H100 Tensor Core GPU data sheet (2024)"
_H200: Final = "NVIDIA H200 Tensor Core GPU data sheet (2024)"
_GRACE: Final = "NVIDIA GH200 Grace Hopper superchip data sheet (2024)"
_HGX: Final = "NVIDIA HGX B200 data sheet (2024), one eighth per device"
_GB200: Final = "NVIDIA GB200 NVL72 data sheet (2024), one 72nd per device"
_ADA: Final = "NVIDIA Ada GPU architecture white paper, appendices"
_BLACKWELL: Final = "NVIDIA RTX Blackwell GPU architecture white paper, appendices"
_CDNA: Final = "AMD Instinct MI100 accelerator brochure (2020)"
_CDNA2: Final = "AMD Instinct MI200 series accelerator data sheet (2022)"
_CDNA3: Final = "AMD Instinct MI300 series data sheets (2023)"

_TABLE: Final[tuple[tuple[str, DevicePeaks], ...]] = (
    # NVIDIA, data center.
    (r"P100.*PCIE", DevicePeaks("P100 PCIe", 4.7, 9.3, None, 18.7, None, None, 732, _PASCAL)),
    (r"P100", DevicePeaks("P100 SXM2", 5.3, 10.6, None, 21.2, None, None, 732, _PASCAL)),
    (r"V100S", DevicePeaks("V100S PCIe", 8.2, 16.4, None, 130, None, None, 1134, _VOLTA)),
    (r"V100.*PCIE", DevicePeaks("V100 PCIe", 7.0, 14.0, None, 112, None, None, 900, _VOLTA)),
    (r"V100", DevicePeaks("V100 SXM2", 7.8, 15.7, None, 125, None, None, 900, _VOLTA)),
    (r"T4", DevicePeaks("T4", None, 8.1, None, 65, None, None, 320, _T4)),
    (r"A2", DevicePeaks("A2", None, 4.5, 9.0, 18, 18, None, 200, "NVIDIA A2 Tensor Core GPU data sheet (2021)")),
    (r"A10G", DevicePeaks("A10G", None, 35, 35, 70, 70, None, 600, "NVIDIA A10G data sheet (2021)")),
    (r"A10", DevicePeaks("A10", None, 31.2, 62.5, 125, 125, None, 600, "NVIDIA A10 Tensor Core GPU data sheet (2021)")),
    (
        r"A30",
        DevicePeaks("A30", 10.3, 10.3, 82, 165, 165, None, 933, "NVIDIA A30 Tensor Core GPU data sheet (2021)"),
    ),
    (r"A40", DevicePeaks("A40", None, 37.4, 74.8, 149.7, 149.7, None, 696, "NVIDIA A40 data sheet (2021)")),
    (r"A100.*80GB.*PCIE|A100.*PCIE.*80GB", DevicePeaks("A100 80GB PCIe", 19.5, 19.5, 156, 312, 312, None, 1935, _A100)),
    (r"A100.*80GB", DevicePeaks("A100 80GB SXM", 19.5, 19.5, 156, 312, 312, None, 2039, _A100)),
    (r"A100.*PCIE", DevicePeaks("A100 40GB PCIe", 19.5, 19.5, 156, 312, 312, None, 1555, _A100)),
    (r"A100", DevicePeaks("A100 40GB SXM", 19.5, 19.5, 156, 312, 312, None, 1555, _A100)),
    (r"L4", DevicePeaks("L4", None, 30.3, 60, 121, 121, 242.5, 300, "NVIDIA L4 Tensor Core GPU data sheet (2023)")),
    (r"L40S", DevicePeaks("L40S", None, 91.6, 183, 362, 362, 733, 864, "NVIDIA L40S data sheet (2023)")),
    (r"L40", DevicePeaks("L40", None, 90.5, 90.5, 181, 181, 362, 864, "NVIDIA L40 data sheet (2022)")),
    (r"GH200.*144G", DevicePeaks("GH200 144GB", 67, 67, 494, 990, 990, 1979, 4900, _GRACE)),
    (r"GH200", DevicePeaks("GH200 96GB", 67, 67, 494, 990, 990, 1979, 4000, _GRACE)),
    (r"H100.*NVL", DevicePeaks("H100 NVL", 60, 60, 417.5, 835.5, 835.5, 1670.5, 3900, _HOPPER_NVL)),
    (r"H100.*PCIE", DevicePeaks("H100 PCIe", 51, 51, 378, 756.5, 756.5, 1513, 2000, _HOPPER)),
    (r"H100", DevicePeaks("H100 SXM", 67, 67, 494.5, 989.5, 989.5, 1979, 3350, _HOPPER)),
    (r"H200.*NVL", DevicePeaks("H200 NVL", 60, 60, 417.5, 835.5, 835.5, 1670.5, 4800, _H200)),
    (r"H200", DevicePeaks("H200 SXM", 67, 67, 494.5, 989.5, 989.5, 1979, 4800, _H200)),
    (r"GB200", DevicePeaks("GB200", 40, 80, 1250, 2500, 2500, 5000, 8000, _GB200)),
    (r"B200", DevicePeaks("B200", 37, 75, 1125, 2250, 2250, 4500, 8000, _HGX)),
    # NVIDIA, workstations and desktops. Peaks of float64 are not stated for all, and float64 is slow on all.
    (r"TITAN RTX", DevicePeaks("Titan RTX", None, 16.3, None, 130.5, None, None, 672, _TURING)),
    (r"RTX 2080 TI", DevicePeaks("RTX 2080 Ti", None, 13.4, None, 53.8, None, None, 616, _TURING)),
    (r"RTX 2080 SUPER", DevicePeaks("RTX 2080 Super", None, 11.2, None, 44.6, None, None, 496, _TURING)),
    (r"RTX 2080", DevicePeaks("RTX 2080", None, 10.1, None, 40.3, None, None, 448, _TURING)),
    (r"RTX 2070 SUPER", DevicePeaks("RTX 2070 Super", None, 9.1, None, 36.3, None, None, 448, _TURING)),
    (r"RTX 2070", DevicePeaks("RTX 2070", None, 7.5, None, 29.9, None, None, 448, _TURING)),
    (r"RTX 2060", DevicePeaks("RTX 2060", None, 6.5, None, 25.8, None, None, 336, _TURING)),
    (r"RTX 3090 TI", DevicePeaks("RTX 3090 Ti", None, 40.0, 40.0, 80, 80, None, 1008, _GA102)),
    (r"RTX 3090", DevicePeaks("RTX 3090", None, 35.6, 35.6, 71.2, 71.2, None, 936, _GA102)),
    (r"RTX 3080 TI", DevicePeaks("RTX 3080 Ti", None, 34.1, 34.1, 68.2, 68.2, None, 912, _GA102)),
    (r"RTX 3080", DevicePeaks("RTX 3080 10GB", None, 29.8, 29.8, 59.5, 59.5, None, 760, _GA102)),
    (r"RTX 3070 TI", DevicePeaks("RTX 3070 Ti", None, 21.7, 21.7, 43.5, 43.5, None, 608, _GA102)),
    (r"RTX 3070", DevicePeaks("RTX 3070", None, 20.3, 20.3, 40.6, 40.6, None, 448, _GA102)),
    (r"RTX 3060 TI", DevicePeaks("RTX 3060 Ti", None, 16.2, 16.2, 32.4, 32.4, None, 448, _GA102)),
    (r"RTX 3060", DevicePeaks("RTX 3060", None, 12.7, 12.7, 25.4, 25.4, None, 360, _GA102)),
    (r"RTX A6000", DevicePeaks("RTX A6000", None, 38.7, 77.4, 154.8, 154.8, None, 768, _GA102)),
    (
        r"RTX A5000",
        DevicePeaks("RTX A5000", None, 27.8, 55.6, 111.1, 111.1, None, 768, "NVIDIA RTX A5000 data sheet (2021)"),
    ),
    (r"RTX 4090", DevicePeaks("RTX 4090", None, 82.6, 82.6, 165.2, 165.2, 330.3, 1008, _ADA)),
    (r"RTX 4080 SUPER", DevicePeaks("RTX 4080 Super", None, 52.2, 52.2, 104.4, 104.4, 208.9, 736, _ADA)),
    (r"RTX 4080", DevicePeaks("RTX 4080", None, 48.7, 48.7, 97.5, 97.5, 194.9, 717, _ADA)),
    (r"RTX 4070 TI SUPER", DevicePeaks("RTX 4070 Ti Super", None, 44.1, 44.1, 88.2, 88.2, 176.4, 672, _ADA)),
    (r"RTX 4070 TI", DevicePeaks("RTX 4070 Ti", None, 40.1, 40.1, 80.2, 80.2, 160.4, 504, _ADA)),
    (r"RTX 4070 SUPER", DevicePeaks("RTX 4070 Super", None, 35.5, 35.5, 71.0, 71.0, 141.9, 504, _ADA)),
    (r"RTX 4070", DevicePeaks("RTX 4070", None, 29.1, 29.1, 58.3, 58.3, 116.6, 504, _ADA)),
    (r"RTX 4060 TI", DevicePeaks("RTX 4060 Ti", None, 22.1, 22.1, 44.1, 44.1, 88.2, 288, _ADA)),
    (r"RTX 4060", DevicePeaks("RTX 4060", None, 15.1, 15.1, 30.2, 30.2, 60.5, 272, _ADA)),
    (r"RTX 6000 ADA", DevicePeaks("RTX 6000 Ada", None, 91.1, 182.1, 364.2, 364.2, 728.5, 960, _ADA)),
    (r"RTX 5090", DevicePeaks("RTX 5090", None, 104.8, 104.8, 209.5, 209.5, 419, 1792, _BLACKWELL)),
    (r"RTX 5080", DevicePeaks("RTX 5080", None, 56.3, 56.3, 112.6, 112.6, 225.1, 960, _BLACKWELL)),
    (r"RTX 5070 TI", DevicePeaks("RTX 5070 Ti", None, 43.9, 43.9, 87.9, 87.9, 175.8, 896, _BLACKWELL)),
    (r"RTX 5070", DevicePeaks("RTX 5070", None, 30.9, 30.9, 61.7, 61.7, 123.5, 672, _BLACKWELL)),
    # AMD. An MI250 is two devices.
    (r"MI100", DevicePeaks("MI100", 11.5, 46.1, None, 184.6, 92.3, None, 1229, _CDNA)),
    (r"MI210", DevicePeaks("MI210", 45.3, 45.3, None, 181, 181, None, 1638, _CDNA2)),
    (r"MI250X", DevicePeaks("MI250X (one of two devices)", 47.9, 47.9, None, 191.5, 191.5, None, 1638, _CDNA2)),
    (r"MI250", DevicePeaks("MI250 (one of two devices)", 45.3, 45.3, None, 181, 181, None, 1638, _CDNA2)),
    (r"MI300A", DevicePeaks("MI300A", 122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 5300, _CDNA3)),
    (r"MI300X", DevicePeaks("MI300X", 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 5300, _CDNA3)),
)
"""Patterns of names that drivers report, more specific ones before more general ones. Devices that are slower than
their namesake, such as the chip of a notebook or a part of a device, match none."""
_OTHER: Final = re.compile(r"\b(laptop|mobile|max-q|mig|d)\b", re.I)


def peaks_of(name: str) -> DevicePeaks | None:
    """Return the peaks of a device by the name that its driver reports, such as "NVIDIA A100-SXM4-80GB".

    None if not known.
    """
    if _OTHER.search(name):
        return None
    plain = re.sub(r"[\s_]+", " ", name.upper())
    for pattern, peaks in _TABLE:
        # Names match as whole words: "A10" does not match "A100", and "L4" does not match "L40".
        if re.search(rf"(?<![A-Z0-9])(?:{pattern})(?![A-Z0-9])", plain):
            return peaks
    return None


def known_devices() -> tuple[DevicePeaks, ...]:
    """Return all devices with known peaks."""
    return tuple(peaks for _, peaks in _TABLE)


_TYPES: Final[tuple[tuple[str, Precision], ...]] = (
    ("float8", "fp8"),
    ("bfloat16", "bf16"),
    ("half", "fp16"),
    ("float16", "fp16"),
    ("double", "fp64"),
    ("float64", "fp64"),
    ("float", "fp32"),
)


def precision_of(types: Any, *, tensor_cores: bool) -> Precision | None:
    """Return the number type that a call computed in, from the types of its inputs as PyTorch states them.

    If inputs differ, the first non-integer type decides. Float32 on tensor cores is TF32. None if nothing is stated.
    """
    for given in types if isinstance(types, list) else ():
        words = str(given).lower()
        for part, precision in _TYPES:
            if part in words:
                return "tf32" if precision == "fp32" and tensor_cores else precision
    return None
