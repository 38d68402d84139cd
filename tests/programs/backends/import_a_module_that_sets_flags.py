import json
import pathlib
import sys

from interlock import backends

pathlib.Path("careless.py").write_text(
    "import interlock\n\n"
    "interlock.backends.cudnn.deterministic = True\n"
    "interlock.backends.cudnn.set_flags(_benchmark=True)\n"
    "interlock.set_float32_matmul_precision('high')\n"
)
sys.path.insert(0, ".")
import careless

names = ("cudnn.deterministic", "cudnn.benchmark", "cuda.matmul.fp32_precision", "cuda.matmul.allow_tf32")
result = [backends.explain(name).set_by for name in names]

print("\n" + json.dumps(result))
