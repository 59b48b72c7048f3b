# The public names, in the order of the flow. A sibling that a later mechanism adds is one more line here.

# putting claims to the test: sdp.attacks.audit
from . import attacks as attacks
from . import calibrate as calibrate

# what can be guessed about one person
from . import leakage as leakage
from ._version import __version__ as __version__
from .accounting import Bracket as Bracket
from .accounting import account as account
from .accounting import bracket as bracket
from .accounting import compose_releases as compose_releases
from .accounting import delta_at as delta_at
from .accounting import reidentification_bound as reidentification_bound
from .accounting import renyi as renyi
from .accounting import to_privacy_loss_distribution as to_privacy_loss_distribution

# analyzing
from .analyzers import FrequencyAnalyzer as FrequencyAnalyzer
from .analyzers import MeanAnalyzer as MeanAnalyzer
from .analyzers import RegionalAnalyzer as RegionalAnalyzer
from .analyzers import SumAnalyzer as SumAnalyzer

# knowing what is guaranteed
from .channels import Channel as Channel
from .estimates import Estimate as Estimate
from .flow import Reports as Reports
from .flow import View as View

# groups of people, and graphs of them
from .graphs import Graph as Graph
from .groups import Groups as Groups
from .guarantees import CentralDP as CentralDP
from .guarantees import DSigmaPrivacy as DSigmaPrivacy
from .guarantees import LocalDP as LocalDP
from .guarantees import RenyiDP as RenyiDP
from .models import ProtocolModel as ProtocolModel

# the whole
from .pipeline import Pipeline as Pipeline
from .pipeline import Release as Release
from .randomizers import DiscreteLaplaceMean as DiscreteLaplaceMean
from .randomizers import HadamardResponse as HadamardResponse
from .randomizers import KaryRandomizedResponse as KaryRandomizedResponse
from .randomizers import LdpModel as LdpModel
from .randomizers import OneBitMean as OneBitMean
from .randomizers import OptimizedLocalHashing as OptimizedLocalHashing
from .randomizers import OptimizedUnaryEncoding as OptimizedUnaryEncoding
from .randomizers import PrivUnit as PrivUnit
from .randomizers import RoundedMean as RoundedMean
from .randomizers import SplitAndMix as SplitAndMix
from .randomizers import SubsetSelection as SubsetSelection
from .randomizers import SymmetricUnaryEncoding as SymmetricUnaryEncoding

# shuffling
from .shufflers import IdentityShuffler as IdentityShuffler
from .shufflers import MallowsShuffler as MallowsShuffler
from .shufflers import NoisySortShuffler as NoisySortShuffler
from .shufflers import ParallelShuffler as ParallelShuffler
from .shufflers import RandomWalkShuffler as RandomWalkShuffler
from .shufflers import UniformShuffler as UniformShuffler
from .shufflers import imperfect_shuffler as imperfect_shuffler
from .statements import PrivacyStatement as PrivacyStatement
from .statements import compose as compose

# values and reports
from .table import Table as Table
