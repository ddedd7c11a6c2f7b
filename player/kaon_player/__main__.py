"""`python -m kaon_player`: the command `kaon-player`."""

import sys

from kaon_player.cli import main

sys.exit(main())
