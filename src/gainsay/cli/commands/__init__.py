"""The commands, one module each. Importing a module registers its command."""

from . import bound as bound
from . import compare as compare
from . import demo as demo
from . import experiment as experiment
from . import explain as explain
from . import gains as gains
from . import gate as gate
from . import metrics as metrics
from . import plan as plan
from . import score as score
from . import sensitivity as sensitivity
