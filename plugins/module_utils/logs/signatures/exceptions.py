# SPDX-License-Identifier: GPL-3.0-or-later
"""The class of a Python exception whose message no signature knows: by its type, its traceback, its words."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Sequence

from ..pattern import compiled, later
from ..signature import Signature

TRACEBACK = b"Traceback (most recent call last):"
EXCEPTION = (
    rb"(?:(?:[A-Za-z_]\w{0,60}\.){0,20}(?:[A-Za-z_]\w{0,60}?)?(?:Error|Exception|Exit|Expired|Failure|Group|Interrupt"
    rb"|Iteration|Timeout)|(?:[A-Za-z_]\w{0,60}\.){1,20}[A-Z][A-Za-z]{2,60}(?=: ))"
)
# The last line of a traceback that is missing: it has a launcher's prefix (rank, node, pid) and nothing else before it.
ALONE = later(
    rb"^(?:\[[^\]\r\n]{1,60}\][: ]{0,2}|\([^)\r\n]{1,60}\) ?"
    rb"|[\w-]{1,40}: ){0,3}(?P<name>(?:[A-Za-z_]\w{0,60}\.){0,20}(?:[A-Z]\w{0,60}?(?:Error|Exception|Timeout)"
    rb"|Exception))(?:\(\w{1,60}\))?(?:: (?=\S)[^\r\n]*|:?\r?$)",
    re.MULTILINE,
)
PYTHON_ERROR = Signature(
    "python_error",
    None,
    EXCEPTION + rb"(?:\(\w{1,60}\))?(?::[^\r\n]*)?$",
)


_LINE_BYTES = 1000
# These are about the code, wherever they appear.
_OF_CODE = later(rb"(?:Name|UnboundLocal|ZeroDivision)Error$")
# Further out, a file runs whatever it is given: a launcher, a reader of settings, a decorator.
_NEAREST_FILES = 6
_NEVER = rb"(?!)"


class Topic(t.NamedTuple):
    """The subject of an exception: ``files`` and types that raise it (/torch/x.py, /torch/XError), ``words`` in it."""

    signature: Signature
    files: bytes
    words: bytes


def _topic(failure: str, files: bytes, words: bytes, remedy: str | None) -> Topic:
    return Topic(Signature(failure, remedy), files or _NEVER, rb"(?i)" + (words or _NEVER))


# The first match counts, with the files taken from the innermost frame outwards: the raising file is known even if its
# message is not. The nouns of the last ones appear in messages about the first ones as well. A class that makes a run
# try again without its node matches only words that clearly say so: a message that mentions a GPU is not a GPU fault.
TOPICS = (
    _topic(
        "checkpoint",
        rb"(?<!/utils)/(?:dist_|async_)?checkpoint(?:ing|ers?|s)?/"
        rb"|(?<!/utils)/(?!activation)\w{0,30}checkpoint(?!_wrapper)\w{0,30}\.py$"
        rb"|/\w{0,30}_ckpt\w{0,30}\.py$|/orbax/|/zero_to_fp32\.py$|/serialization\.py$|/safetensors|/tensorstore/|/zarr/",
        rb"(?<!activation )(?<!gradient )(?<!full )(?<!utils\.)\bcheckpoint(?!ing)|state[_ ]?dict\b"
        rb"|latest_checkpointed|safetensors|optimizer state|\brestor(?:e|ing)\b|tensorstore|\bzarr\b|sharded tensor"
        rb"|\borbax|\.(?:ckpt|distcp|pth?)\b|/(?:ckpts?|iter_\d{1,9}|global_step\d{1,9})/",
        None,
    ),
    _topic(
        "tokenizer",
        rb"/tokenization_\w{1,40}\.py$|/tokenizers?/|/\w{0,30}tokenizers?\.py$|/sentencepiece/|/tiktoken/"
        rb"|/tokenization\w{0,20}\.py$",
        rb"tokeniz|\bvocab|chat[ _]template|sentencepiece|special[ _]token|\bpad_token",
        None,
    ),
    _topic(
        "compile",
        rb"/torch/_(?:inductor|dynamo)/\w{0,30}Err|/torch/_inductor/|/triton/(?:compiler|runtime|backends|language)/"
        rb"|/cpp_extension\.py$|/libneuronxla/"
        rb"|/fused_kernels/|/torch/fx/experimental/symbolic_shapes|/jax/_src/(?:compiler\.py$|interpreters/mlir|pallas/)",
        rb"(?<![/\w])compil(?:e|ing|ation|er)\b(?!/)|\bMLIR\b|\bHLO\b|\bLLVM\b|\bptx|\btriton\b|inductor"
        rb"|\bmosaic\b|\bpallas\b|\bnvcc\b|\bhipcc\b|\bJIT load\b",
        None,
    ),
    _topic(
        "settings_refused",
        rb"/(?:yaml_)?arguments\.py$|/transformer_config\.py$|/model_parallel_config\.py$|/pyconfig\w{0,20}\.py$"
        rb"|/configs/types\.py$|/parallel_state\.py$|/argparse\b|/omegaconf/"
        rb"|/hydra/(?!main|core/utils|_internal/(?:utils|hydra))|/pydantic\w{0,20}/|/training_args\.py$"
        rb"|(?<!/gin)/\w{0,30}config\w{0,30}\.py$"
        rb"|/configuration_\w{1,40}\.py$|/num_microbatches_calculator\.py$|/Config\w{0,20}Error$|/elasticity/config/|/exp_manager/|/\w{1,60}ConfigError$",
        b"",
        None,
    ),
    _topic(
        "hub_unreachable",
        rb"/huggingface_hub/|/urllib3/|/requests/|/httpx/|/httpcore/|/aiohttp/|/urllib/|/botocore/|/s3fs/|/gcsfs/"
        rb"|/google/(?:api_core|cloud|auth)/|/http/client",
        rb"max retries exceeded|\bdownload(?:ing)?\b|\bhttps?://\S{1,200} (?:failed|timed out)|ssl: certificate"
        rb"|internet connection|(?:couldn't reach|failed to (?:connect to|fetch|open|load|get)) https?://",
        None,
    ),
    _topic(
        "data",
        rb"/core/datasets/|/(?:site|dist)-packages/datasets/|^/datasets/|/grain/|/tensorflow_datasets/|/tfds/"
        rb"|/input_pipeline/|/torch/utils/data/|/pyarrow/|/array_record/|/webdataset/|/streaming/base/"
        rb"|/data/\w{0,30}(?:dataset|sampler|loader|collat)\w{0,30}\.py$|/data_iterator\w{0,30}\.py$",
        rb"\bdata ?(?:set|loader|_path|_prefix|_dir|_files?| path| files?)s?\b|\bparquet\b|\barrow\b|\btfrecord"
        rb"|\bjsonl\b|array_record|\bsplit '|\bcolumns?\b(?!-| tensor| parallel| scale)|\bsampler\b|^stopiteration\b"
        rb"|\b(?:number of|training|valid) samples|\bepochs?\b|jsondecodeerror|unicodedecodeerror",
        None,
    ),
    _topic(
        "watchdog",
        b"",
        rb"(?:barrier|collective|all[_-]?(?:reduce|gather)|broadcast)\b.{0,200}tim(?:ed ?|e)out"
        rb"|tim(?:ed ?|e)out.{0,200}(?:barrier|collective|all[_-]?(?:reduce|gather)|broadcast)",
        None,
    ),
    _topic(
        "jax_start",
        rb"/jax/_src/clusters/",
        b"",
        None,
    ),
    _topic(
        "rendezvous_timeout",
        rb"/elastic/rendezvous/|/distributed/rendezvous\.py$|/jax/_src/distributed\.py$"
        rb"|/torch/distributed/DistStoreError",
        rb"\brendezvous|(?:connect|join|master|coordinator|store)\b.{0,200}(?:tim(?:ed ?|e)out|refused)"
        rb"|tim(?:ed ?|e)out.{0,200}(?:connect|join|master|coordinator|store)\b",
        None,
    ),
    _topic(
        "peer_died",
        rb"/torch/distributed/Dist\w{0,20}Error$|/ray/exceptions/(?:\w{0,20}Died|Worker|\w{0,20}Unavailable)",
        rb"(?:connection|socket) (?:was |is )?(?:lost|closed|reset|broken|aborted)|\b(?:worker|actor|peer|rank"
        rb"|process)\b.{0,60} (?:died|has failed|went away|crashed)",
        None,
    ),
    _topic(
        "nccl",
        rb"/cupy/cuda/nccl|/cupy_backends/cuda/libs/nccl",
        rb"\b[NR]CCL\b(?!['\"]| (?:backend|allocator|EP|UBR)\b)|libfabric|\bEFA\b|ibverbs|\bRDMA\b|\bInfiniBand\b"
        rb"|\bucx\b|\bibv_\w|\bIB failure",
        None,
    ),
    _topic(
        "wrong_rank",
        b"",
        rb"\bprocess\w{0,3}\b.{0,60}\bsame rank\b|\bduplicate rank|\brank \d{1,9} (?:is |has )?already"
        rb"|\brank \d{1,9} (?:does not match|is not part of group)\b|mismatch in local rank",
        None,
    ),
    _topic(
        "no_gpu",
        b"",
        rb"\bno (?:\w{1,12} )?(?:gpus?|accelerators?|tpus?|neuron\w{0,5}|cuda|devices?)\b.{0,60}(?:found|available"
        rb"|visible|detected)|\bno visible (?:\w{1,12} )?(?:gpus?|devices?)\b|registered platform"
        rb"|\bbackend\b.{0,60}(?:failed to initiali[sz]e|not found)|(?:gpus?|accelerators?|tpus?|cuda|rocm) (?:is"
        rb"|are) not (?:available|found|visible|detected)",
        None,
    ),
    _topic(
        "sizes",
        rb"/einops/|/mesh_utils\.py$|/\w{0,20}sharding\w{0,20}\.py$|/jax/_src/mesh\.py$",
        rb"\bshapes?\b(?!')|\bdivisible\b|\bmust equal\b|\bsizes? do(?:es)?(?:n't| not) match\b"
        rb"|\bparallelism\b.{0,60}\bvalues?\b|\bnot enough (?:slices|devices|gpus|layers|ranks|nodes)\b"
        rb"|\bexpected (?:exactly|at least) \d{1,9} (?:ranks|devices|gpus|processes)\b|\bnumber of model chunks\b"
        rb"|\bdivide|\bsize mismatch|\bmesh\b|\bshardings?\b|partitionspec|world[_ ]size|\bdata_parallel"
        rb"|parallel(?:ism)? (?:size|degree)|\bnum_\w{0,20}(?:heads|layers|experts|devices|groups)"
        rb"|number of (?:\w{1,20} )?(?:layers|heads|experts|devices|slices|processes)\b|\bbroadcast|\bdimensions?\b"
        rb"|sequence length|batch size|batch_size",
        None,
    ),
    _topic(
        "access_denied",
        b"",
        rb"unauthori[sz]ed|forbidden(?! to)|\bcredentials?\b|access(?: is| was)? denied|permission denied|authenticat",
        None,
    ),
    _topic(
        "not_found",
        b"",
        rb"no such file|does not exist|doesn't exist|(?<!\bkey)(?<!\bkeys)\b(?:files?|path|folder|director(?:y|ies)"
        rb"|program|script|binary)\b.{0,200} not found\b|(?:can ?not|could ?n[o']t) find|file not found",
        None,
    ),
    _topic(
        "import_error",
        # They look for their own native library.
        rb"/transformer_engine/(?:pytorch|jax|common|paddle)/__init__\.py$",
        rb"\bversions?\b.{0,80}(?:mismatch|incompatib|required?|older|newer|too old|not supported)"
        rb"|\brequires? \S{1,40} ?[<>=]{1,2}|\bversion [\d.]{1,20} or (?:higher|newer|later|above)\b"
        rb"|\bnot available in this .{1,40} version|\bupgrade \w{1,30} to\b|\btorch version does not\b"
        rb"|could not find (?:shared object|`?transformer.engine|te core)|\bfailed to import\b|\b(?:is )?not installed"
        rb"|\bpip install|\brequired to (?:use|run)\b|(?:built|compiled) without\b",
        None,
    ),
    _topic(
        "gpu_error",
        rb"/torch/AcceleratorError$|/pynvml|/amdsmi/|/hip/HIP",
        b"",
        None,
    ),
    _topic(
        "settings_refused",
        b"",
        rb"(?:Value|Assertion|NotImplemented|Runtime|Config\w{0,20}|Argument|Validation|\b)(?:Error"
        rb"|Exception): .{0,300}(?:\bconfig|\barguments?\b|\boptions?\b|\bflags?\b|\bmust (?:not )?be\b"
        rb"|\bsupports? .{1,80} only\b|\bonly works? (?:with|for|when|if)\b|\bmissing argument\b"
        rb"|\beither .{1,60} should be\b|\binvalid [`'\"]\w|\bunsupported\b|\bnot (?:yet )?(?:supported|implemented"
        rb"|allowed|compatible)|\bincompatible\b|\brequires?\b|\bunknown\b|\bunrecogni[sz]ed\b|\binvalid (?:value"
        rb"|choice|param|type|key|name|mode|opt)|\bonly supports?\b|\bdo(?:es)?(?: not|n't) (?:currently "
        rb"|yet )?(?:support|allow|accept|recogni[sz]e)|\bsupports? only\b|\bnot understood\b"
        rb"|\bno backend type associated\b|\bonly .{0,60}\b(?:supported|implemented|available|valid|allowed|used)\b"
        rb"|\bmutually exclusive\b|\byou (?:can't|cannot|must|need to)\b|\bcan only use\b|\bneeds? to be\b"
        rb"|\bat most one\b|\bneed a real\b|\b(?:incorrect|invalid) \w{1,30} (?:name|mode|recipe|policy)\b"
        rb"|\bwithout also enabling\b|\binvalid length of\b|\bbe simultaneously\b|\bhostfile\b|\bno available kernel\b"
        rb"|\bsupports this (?:input )?combination|\bnot a valid\b|\ballowed \w{1,20} values\b|\bselected an invalid\b"
        rb"|\bmachine only has\b|\bchoose one\b|\bmust (?:specify|define|provide|flatten|pass|follow)\b|\bcan(?:'t"
        rb"|not) (?:specify|pass) both\b|\bsupported \w{1,20} are\b|\bshould either be\b|\bnot specified\b"
        rb"|\binvalid (?:\w{1,20} ){1,3}['\"`]|\bcan(?:not| only) (?:both |only )?(?:have|set|specify|enable|combine"
        rb"|be (?:used|combined|enabled|set))\b|\binvalid \w{1,40}:|\b(?:is|are) (?:required|not available)\b"
        rb"|\bcurrently only\b|\bplease (?:set|specify|use|provide)\b|\bshould (?:not )?be\b|\benvironment variable"
        rb"|\b(?:is|are|was|were) not set\b)|(?-i:KeyError: '[A-Z][A-Z_]{3,30}'$)",
        None,
    ),
)


def exception_class(line: bytes, files: Sequence[bytes]) -> Signature:
    """Return the signature of an exception.

    ``line`` is its last line, ``files`` are the files of its traceback, the innermost last.
    """
    name = line.split(b":", 1)[0].strip()
    if _OF_CODE.search(name):
        return PYTHON_ERROR
    of_attribute = name == b"AttributeError"
    topics = [topic for topic in TOPICS if not (of_attribute and topic.signature.failure == "settings_refused")]
    for place in (b"/" + name.replace(b".", b"/"), *reversed(files[-_NEAREST_FILES:])):
        for topic in topics:
            if compiled(topic.files).search(place):
                return topic.signature
    if of_attribute:
        return PYTHON_ERROR
    for topic in TOPICS:
        if compiled(topic.words).search(line[:_LINE_BYTES]):
            return topic.signature
    return PYTHON_ERROR
