"""The benchmark `inspect` of the interface; it is in `_inspection.py`.

A script's own folder comes first on sys.path, so that this file stands before the standard
library's `inspect` for every benchmark beside it: imported, it is the standard library's.
"""

import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from sysconfig import get_path

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    runpy.run_path(str(here / "_inspection.py"), run_name="__main__")
else:
    spec = spec_from_file_location(__name__, Path(get_path("stdlib")) / "inspect.py")
    assert spec is not None and spec.loader is not None
    sys.modules[__name__] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[__name__])
