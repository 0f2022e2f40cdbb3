"""Many runs: grids of settings, engines that train them, tables of what came of it."""

from vaescope.sweeps.driver import Groups, Status, alone, stacked, sweep
from vaescope.sweeps.engine import ENGINES, Engine, make_engine
from vaescope.sweeps.grid import Plan, chain, nest, plan, product, read_plan, zipped

__all__ = [
    "ENGINES",
    "Engine",
    "Groups",
    "Plan",
    "Status",
    "alone",
    "chain",
    "make_engine",
    "nest",
    "plan",
    "product",
    "read_plan",
    "stacked",
    "sweep",
    "zipped",
]
