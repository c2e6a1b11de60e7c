"""The packages of the gallery can be imported by their tests, and are installed nowhere."""

import sys
from pathlib import Path

sys.path += [str(folder) for folder in sorted(Path(__file__).parent.glob("*/src"))]
