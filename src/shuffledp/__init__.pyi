# The public names in the order of the flow; sections and order are those of docs/api.md, by test.
# A sibling that a later mechanism adds is one more line here.
# isort: skip_file

from ._version import __version__ as __version__

# answers and reports
from .core.table import Table as Table
from .core.flow import Reports as Reports
from .core.flow import View as View

# randomizing categories
from .randomizers import KaryRandomizedResponse as KaryRandomizedResponse
from .randomizers import OptimizedUnaryEncoding as OptimizedUnaryEncoding
from .randomizers import SymmetricUnaryEncoding as SymmetricUnaryEncoding
from .randomizers import OptimizedLocalHashing as OptimizedLocalHashing
from .randomizers import HadamardResponse as HadamardResponse
from .randomizers import SubsetSelection as SubsetSelection
from .randomizers import BlanketedResponse as BlanketedResponse
from .randomizers import Bins as Bins

# randomizing ticks on a list of options
from .randomizers import TickColumns as TickColumns
from .randomizers import OneOption as OneOption
from .randomizers import AllSets as AllSets

# randomizing numbers and vectors
from .randomizers import DiscreteLaplaceMean as DiscreteLaplaceMean
from .randomizers import OneBitMean as OneBitMean
from .randomizers import RoundedMean as RoundedMean
from .randomizers import PrivUnit as PrivUnit
from .protocols.shares import CountedBits as CountedBits
from .protocols.shares import SplitAndMix as SplitAndMix
from .protocols.shares import VectorSum as VectorSum
from .protocols.shares import Hosts as Hosts

# randomizing texts
from .core.text_codes import TextCode as TextCode
from .randomizers import MaskedPrefixes as MaskedPrefixes

# shuffling
from .shufflers import UniformShuffler as UniformShuffler
from .protocols.strata import StratifiedShuffler as StratifiedShuffler
from .shufflers import IdentityShuffler as IdentityShuffler
from .protocols.shares import imperfect_shuffler as imperfect_shuffler
from .protocols.shares import ParallelShuffler as ParallelShuffler
from .protocols.d_sigma import MallowsShuffler as MallowsShuffler
from .protocols.d_sigma import NoisySortShuffler as NoisySortShuffler
from .protocols.network import RandomWalkShuffler as RandomWalkShuffler

# graphs of people
from .people.graphs import Graph as Graph
from .protocols.network import Overlay as Overlay
from .protocols.network import Schedule as Schedule

# groups and strata of people
from .protocols.d_sigma import Groups as Groups
from .protocols.strata import Strata as Strata

# analyzing
from .analyzers import FrequencyAnalyzer as FrequencyAnalyzer
from .analyzers import CrossTableAnalyzer as CrossTableAnalyzer
from .analyzers import HistogramAnalyzer as HistogramAnalyzer
from .analyzers import BlanketAnalyzer as BlanketAnalyzer
from .analyzers import TickAnalyzer as TickAnalyzer
from .analyzers import MeanAnalyzer as MeanAnalyzer
from .analyzers import WordAnalyzer as WordAnalyzer
from .protocols.d_sigma import RegionalAnalyzer as RegionalAnalyzer
from .protocols.strata import StratifiedAnalyzer as StratifiedAnalyzer
from .protocols.shares import SumAnalyzer as SumAnalyzer
from .protocols.shares import BitSumAnalyzer as BitSumAnalyzer
from .core.estimates import Estimate as Estimate

# the whole
from .pipeline import Pipeline as Pipeline
from .pipeline import Release as Release

# knowing what is guaranteed
from .accounting import account as account
from .accounting import bracket as bracket
from .accounting import delta_at as delta_at
from .accounting import renyi as renyi
from .accounting import compose_releases as compose_releases
from .accounting import to_privacy_loss_distribution as to_privacy_loss_distribution
from .core.statements import compose as compose
from .protocols.network import walk_gate as walk_gate
from .protocols.network import WalkGate as WalkGate
from .accounting import Bracket as Bracket
from .randomizers import LdpModel as LdpModel
from .core.statements import PrivacyStatement as PrivacyStatement
from .core.guarantees import CentralDP as CentralDP
from .core.guarantees import LocalDP as LocalDP
from .core.guarantees import RenyiDP as RenyiDP
from .core.guarantees import DSigmaPrivacy as DSigmaPrivacy
from .protocols.d_sigma import reidentification_bound as reidentification_bound
from .core.local_models import ProtocolModel as ProtocolModel
from .core.channels import Channel as Channel

# what can be guessed about one person
from . import leakage as leakage

# putting it to the test
from . import attacks as attacks

# from a target to the parameters
from . import planning as planning
from .planning import calibrate as calibrate

# tasks and files
from .survey import Task as Task
from . import distributed as distributed
