"""Models for other people's tools: the Hugging Face layout with a model card, and ONNX."""

from vaescope.exporting.card import ModelCard, model_card
from vaescope.exporting.hub import Published, load_pretrained, save_pretrained
from vaescope.exporting.onnx import OnnxCheck, OnnxExport, export_onnx

__all__ = [
    "ModelCard",
    "OnnxCheck",
    "OnnxExport",
    "Published",
    "export_onnx",
    "load_pretrained",
    "model_card",
    "save_pretrained",
]
