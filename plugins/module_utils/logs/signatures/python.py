# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of Python and its libraries, in any program."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

SIGNATURES = (
    Signature(
        "import_error",
        "A Python package is missing or has the wrong version. Use the container image that the trainer needs.",
        rb"(?:ModuleNotFoundError|ImportError|DistributionNotFound|PackageNotFoundError): "
        rb"|/python[\d.]{0,9}: No module named |(?:Error: [^\r\n]{0,300}|\.so[.\d]{0,12}: )undefined symbol: "
        rb"|OSError: \S{1,200}: cannot open shared object file"
        rb"|Error: Distributed package doesn't have \w{1,9} built in",
        name="any import",
        sample="/usr/bin/python3: No module named flash_attn",
    ),
    Signature(
        "import_error",
        "pip could not install a package. Check its name and version, the image's Python, and that the node reaches "
        "the package index.",
        rb"ERROR: (?:Could not find a version that satisfies|No matching distribution found|ResolutionImpossible"
        rb"|Failed building wheel|Cannot install )|Failed to build installable wheels"
        rb"|error: subprocess-exited-with-error|error: metadata-generation-failed",
        sample="ERROR: Cannot install torch==2.6.0 and torchvision==0.19.0 because these versions have conflicts.",
    ),
    Signature(
        "import_error",
        "Packages in the image have conflicting versions. Install the versions that the trainer needs (the message "
        "names one package), or use another image.",
        rb"AttributeError: (?:partially initialized )?module '[^'\r\n]{1,99}' has no attribute '"
        rb"|Error: [^\r\n]{0,99}was removed in the NumPy|Error: numpy\.dtype size changed"
        rb"|Error: Descriptors cannot (?:not )?be created|were compiled with different CUDA major versions"
        rb"|but source was compiled with: |Error: jaxlib (?:version|is version) "
        rb"|operator torchvision::\w{1,40} does not exist|VersionConflict: "
        rb"|Transformers does not recognize this architecture|Error: Unrecognized model in "
        rb"|The detected CUDA version \S{1,20} mismatches|Installed CUDA version \S{1,20} "
        rb"does not match the version torch"
        rb"|CUDA Setup failed despite|CUDA SETUP ERROR|Error: Failed to load native library: "
        rb"|'NoneType' object has no attribute 'c(?:quantize|adam|get_|gemm)"
        rb"|is required for a normal functioning of this module|got an unexpected keyword argument '",
        sample="CUDA Setup failed despite GPU being available. odd",
    ),
    Signature(
        "import_error",
        "A package that the training needs is not in the image. Install the one that the message names, or use "
        "another image.",
        rb"(?:Error|Exception): [^\r\n]{0,300}(?:[Pp]lease (?:pip )?install |pip install |is not installed"
        rb"|module is not found|requires cuda extensions|Could not find shared object file for "
        rb"|ou have installed [`'\"]?\w|library was not found\.|[Ii]nstall (?:it|`|\w{1,30} (?:with|using|from)))",
        name="missing package",
        more_specific_than=("any refused setting",),
        sample="RuntimeError: apex.odd requires cuda extensions",
    ),
    Signature(
        "data_corrupt",
        "A data file is truncated or does not match its index. Copy it or preprocess it again, and check whether a "
        "copy or a fetch was interrupted.",
        rb"no greater than buffer length|mmap length is greater than file size|cannot mmap an empty file"
        rb"|buffer is smaller than requested size|buffer size must be a multiple of element size"
        rb"|Index file doesn't match expected format|\(truncated file: eof|Arrow(?:Invalid|TypeError"
        rb"|IOError)?: [^\r\n]{0,200}(?:footer|[Tt]runcated|magic|corrupt|[Ee]xpected to read"
        rb"|JSON parse error(?!: Column))|Parquet magic bytes not found|BadZipFile: |BadGzipFile: "
        rb"|Compressed file ended before the end-of-stream|DataLossError\b|DATA_LOSS: |Error: bad (?:header"
        rb"|version), cannot read|Error: (?:Consistency check failed|No data left in file)"
        rb"|NonMatching\w{1,40}Error: |ExpectedMoreDownloadedFiles: |Error: Not a valid TFRecord"
        rb"|Error: Not a \.npy file|is truncated: its header|ReadError: [(']{0,2}unexpected end of data"
        rb"|Error: Expected to (?:be able to read|read) \d{1,20} (?:bytes for message body|metadata bytes)"
        rb"|Error: Failed to interpret file|items requested but only \d",
        more_specific_than=("sizes of the parallelism",),
        sample="ValueError: mmap length is greater than file size",
    ),
    Signature(
        "child_failed",
        "A training process aborted. Look for the cause in its earlier output; the stack below shows where it was.",
        rb"Fatal Python error: Aborted",
        more_specific_than=("crash of Python",),
        sample="Fatal Python error: Aborted",
    ),
    Signature(
        "segmentation_fault",
        "Python itself crashed in native code, usually because libraries in the image do not match each other or the "
        "driver. The stack below this line shows the library.",
        rb"Fatal Python error: ",
        name="crash of Python",
        sample="Fatal Python error: _PyEval_EvalFrameDefault: invalid frame",
    ),
    Signature(
        "name_resolution",
        "This node cannot resolve a name. Check DNS and /etc/hosts, and use addresses that every node resolves and "
        "reaches (MASTER_ADDR, JAX_COORDINATOR_IP).",
        rb"gaierror: \[Errno|NameResolutionError|(?:Error"
        rb"|failed)[^\r\n]{0,300}(?:[Tt]emporary failure in name resolution|Name or service not known)",
        name="any name resolution",
        sample="socket.gaierror: [Errno -2] Name or service not known",
    ),
    Signature(
        "wrong_rank",
        "A rank is outside its job or process group. Compare RANK, WORLD_SIZE, the node ranks and the processes per "
        "node, and check which group the message names.",
        rb"Error: (?:[^\r\n]{0,200}(?:[Ii]nvalid rank \d|rank should be in the interval)"
        rb"|[^\r\n]{0,60}\brank \d{1,9} must be less than world|[^\r\n]{0,99}with process_id < num_processes)",
        more_specific_than=("any refused setting",),
        sample="ValueError: Invalid rank 8, rank should be in the interval [0, 7]",
    ),
    Signature(
        "sizes",
        "The sizes do not match. The number of GPUs must be a multiple of tensor × pipeline × context parallel size, "
        "and the global batch size a multiple of micro batch size × data parallel size.",
        rb"(?:Error|Exception): (?!\w{1,60} value from checkpoint )[^\r\n]{0,400}(?:divisi?ble by"
        rb"|must be a whole number|invalid implied data parallel degree|multiple of|is not equal to )",
        name="sizes of the parallelism",
        sample="RuntimeError: invalid implied data parallel degree: 8 / 3",
    ),
    Signature(
        "sizes",
        "The shapes do not match. Compare the model's sizes, sequence and batch size, the parallel sizes and the "
        "checkpoint with those in the message.",
        rb"Error: [^\r\n]{0,300}(?:must match the (?:existing )?size|shapes cannot be multiplied"
        rb"|is invalid for input of size|expects each tensor to be equal size|must equal the product of"
        rb"|\b[Dd]imension \d|[Ii]ncompatible devices for jitted)",
        more_specific_than=("any refused setting",),
        sample="ValueError: Dimension 0 of the odd array should be 7",
    ),
    Signature(
        "peer_died",
        None,
        # An EOFError with a message is of a file.
        rb"(?:ConnectionResetError|BrokenPipeError): |(?<!raise )\bEOFError(?=\s{0,99}(?m:$))",
        name="any lost connection",
        sample="BrokenPipeError: [Errno 32] Broken pipe",
    ),
    Signature(
        "rendezvous_timeout",
        "Nothing is listening where this rank connects, or there is no route to it. Look for a node that did not "
        "start or failed earlier, then check address, port and firewall.",
        rb"ConnectionRefusedError: |Error: \[Errno 1(?:01|10|11|13)\]|Error: [^\r\n]{0,200}Network is unreachable",
        name="any refused connection",
        sample="OSError: [Errno 101] Network is unreachable",
    ),
    Signature(
        "data",
        "The training data is unusable: it is missing, empty or has other columns than requested. Check paths and "
        "format of the dataset on each node.",
        rb"Error: (?:[^\r\n]{0,200}num_samples=0|no samples? (?:left )?to consume)|CastError: "
        rb"|Error: [^\r\n]{0,300} not in the dataset|DataFilesNotFoundError: |FileNotFoundError: (?:Unable to find '"
        rb"|Couldn't find any data file)|Error: Dataset scripts are no longer supported"
        rb"|Training stopped: `next\(self\.data_iterator\)` failed",
        more_specific_than=("any missing file",),
        sample="AssertionError: no sample to consume: 0",
    ),
    Signature(
        "not_found",
        "A file or folder is missing on this node. Check the path and the mounts, and that every node sees it.",
        rb"FileNotFoundError: (?![^\r\n]{0,300}(?:[Cc]heckpoint|/ckpts?/|/iter_\d|/global_step))(?:\[Errno 2\]"
        rb"|(?![^\r\n]{0,300}(?:\.ckpt|\.distcp|\.pth?\b|[Rr]estore|[Ss]teps? |[Mm]etadata|[Dd]ataset|[Tt]okenizer)))"
        rb"|errors_impl\.NotFoundError: |NotADirectoryError: ",
        name="any missing file",
        sample="FileNotFoundError: [Errno 2] No such file or directory: '/data/c4_text_document.idx'",
    ),
    Signature(
        "nan",
        None,
        rb"FloatingPointError: [Ii]nvalid value \(|(?:Error"
        rb"|Exception): (?:[^\r\n]{0,60}(?:loss scale already at minimum|Minimum loss scale reached)"
        rb"|(?!could not convert)[^\r\n]{0,200}\b(?:NaNs?|nan|[Nn]on-finite|not finite|[Ii]nfinite loss|Inf)\b)",
        name="any NaN",
        sample="Exception: Current loss scale already at minimum - odd.",
    ),
    Signature(
        "checkpoint",
        "A checkpoint was not written in time. Check how fast its storage is on every node, and that all nodes write.",
        rb"completed \d{1,9}/\d{1,9} futures but timed out after",
        sample="ChainedFuture completed 0/1 futures but timed out after 1199.9 seconds",
    ),
    Signature(
        "checkpoint",
        "The checkpoint cannot be loaded. Check that it is complete and at the requested path and step on every node, "
        "and that its format and the model's sizes match this run.",
        rb"(?:Error|Exception): (?![^\r\n]{0,400}(?: (?:is|are) (?:not |only )(?:yet )?supported| requires? "
        rb"|must be (?:set|specified|provided|>)|[Yy]ou must (?:set|specify)"
        rb"|cannot be used together))[^\r\n]{0,200}(?:(?<!activation )(?<!gradient )(?<!utils\.)\b[Cc]heckpoint"
        rb"|tree structures do not match|No structure could be identified|[Uu]nexpected key\(s\)"
        rb"|for restore does not exist|No steps found in|[Mm]etadata (?:path|file|not found)|Step directory "
        rb"|waiting for async_|NOT_FOUND: Error (?:opening|reading)|save timeout exceeded|while reading array index: "
        rb"|compatible with the stored shape)|Training stopped: Checkpointing failed",
        name="any checkpoint error",
        sample="I0102 x.py:7] Training stopped: Checkpointing failed. Odd",
    ),
    Signature(
        "settings_refused",
        "The program has no such option. Remove it, or correct its name as the message suggests.",
        rb"Unrecognized options: ",
        sample="│ Unrecognized options: --odd.degree=8   │",
    ),
    Signature(
        "settings_refused",
        "The program has no such setting. Correct the name that Hydra reports, or put + in front of a new one.",
        rb"Could not override '|' is not in struct|Could not append to config"
        rb"|Cannot find primary config|LexerNoViableAlt\w{1,20}: |Error (?:in call to|locating) target '",
        sample="Could not override 'model.foo'.",
    ),
    Signature(
        "settings_refused",
        "The program does not support this combination of settings. The message gives the requirement; correct the "
        "config, or use an image that supports it.",
        rb"\bValidationError: \d|(?:omegaconf|hydra)\.errors\.\w{1,60}: |\b(?:Assertion|Value"
        rb"|NotImplemented)Error: [^\r\n]{0,300}(?:[ '\"`]--[a-z0-9]{2,40}-[a-z]|supported\b|compatible\b"
        rb"|annot (?:use|be used)|\b[Rr]equires? |must (?:not )?(?:be|specify|set|use)\b|[Vv]alid (?:options|values"
        rb"|choices)|should (?:not )?be |[Nn]eed to (?:be|specify|set)|mutually exclusive|BuilderConfig "
        rb"|[Uu]nknown split|[Bb]ad split|[Uu]nsupported |only supports?\b|can only |not allowed|too small for"
        rb"|ha(?:s|ve) to be )|Error: [^\r\n]{0,40}rendezvous (?:configuration option|backend|handler for) "
        rb"|\b(?:RuntimeError|Exception): [^\r\n]{0,300}(?:[ '\"`]--[a-z0-9]{2,40}-[a-z]|[Rr]equires (?!grad)"
        rb"|environment variable|mutually exclusive|is not supported|only supports?\b|not implemented"
        rb"|spawn' start method|in yaml)|\byaml\.\w{1,40}\.\w{1,40}Error\b|Error: [^\r\n]{0,300}trust_remote_code"
        rb"|MisconfigurationException: ",
        name="any refused setting",
        sample="ValueError: The rendezvous backend 'odd' is odd",
    ),
    Signature(
        "settings_refused",
        "Hydra ended the program. The lines before this one say why, usually a setting or config file that it cannot "
        "find; HYDRA_FULL_ERROR=1 shows the whole traceback.",
        rb"Set the environment variable HYDRA_FULL_ERROR",
        BLAME["child_failed"],
        sample="Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
    ),
    Signature(
        "sigterm",
        "The process was interrupted (SIGINT) by a person, the scheduler or the launcher.",
        rb"(?m:^(?:\[\w{1,20}\]: ?)?KeyboardInterrupt\b)",
        sample="KeyboardInterrupt",
    ),
    Signature(
        "child_failed",
        "An exception in native code ended a process. The next line, what(), describes it; look for the cause in the "
        "earlier output.",
        rb"terminate called after throwing an instance of",
        name="any native exception",
        sample="terminate called after throwing an instance of",
    ),
)
