# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of huggingface_hub, transformers and the programs that download for them."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "hub_rate_limit",
        None,
        rb"429 Client Error|Error: [^\r\n]{0,300}429[^\r\n]{0,60}Too Many Requests|429 Too Many Requests: ",
        name="rate limit of the hub",
        sample=("huggingface_hub.errors.HfHubHTTPError: 429 Too Many Requests: you have reached your odd rate limit."),
    ),
    Signature(
        "access_denied",
        "Hugging Face denies access to the model or tokenizer. Request access on its page and set the token "
        "(HF_TOKEN) of an account that has it, or use a local copy.",
        rb"trying to access a gated repo|Cannot access gated repo|(?:401|403) Client Error|ERROR 401: |ERROR 403: "
        rb"|Client error '40[13] [^\r\n]{1,40} for url 'https://huggingface\.co|GatedRepoError: |Re(?:pository"
        rb"|vision)NotFoundError: |LocalTokenNotFoundError: |HFValidationError: |HfHubHTTPError: 40[13] "
        rb"|Invalid user token|Invalid credentials in Authorization header|Cannot access content at: http"
        rb"|(?m:^[^\r\n]{0,40})(?:401 Unauthorized|403 Forbidden): ",
        sample="You are trying to access a gated repo.",
    ),
    Signature(
        "tokenizer",
        "The tokenizer or model was not found. Check its name or path, set a token, or use a local copy; a local "
        "folder of the same name hides the one on Hugging Face.",
        rb"required positional arguments?: '(?:vocab|tokenizer|merges)_file'|Can't load (?:tokenizer"
        rb"|the configuration|the model|feature extractor) (?:for|of) |is not a valid model identifier"
        rb"|Error: [^\r\n]{0,99}tokenizer\.chat_template is not set|tokenizer does not have a padding token"
        rb"|of untagged enum (?:\w{0,20}Wrapper|PyPreTokenizer\w{0,20}|Pre\w{1,20})\b|(?:FileNotFound|OS|Value"
        rb"|Runtime|NotFound|Assertion)Error: [^\r\n]{0,300}tokenizer(?:\.\w|_config\.json)"
        rb"|Error: Tokenizer class |Couldn't instantiate the backend tokenizer|(?<!Local)EntryNotFoundError: "
        rb"|does not appear to have (?:a file|files) named|Error no file named "
        rb"|Failed to load \w{1,20}(?: Face)? tokenizer from|Unable to instantiate HuggingFace AutoTokenizer"
        rb"|Error: Tokenizer path (?:doesn't exist|'[^'\r\n]{1,300}' does not exist)",
        sample="FileNotFoundError: Tokenizer path '/odd' does not exist",
    ),
    Signature(
        "data_cache",
        None,
        rb"Couldn't find cache for |dataset cached in a |on the Hub \(OfflineMode"
        rb"|Hub for dataset '[^\r\n]{0,400}: offline mode is enabled",
        sample="ValueError: Couldn't find cache for odd for config 'en'",
    ),
    Signature(
        "hub_unreachable",
        "This node cannot reach Hugging Face. Check network, DNS and proxy, or use a local copy or a cache that the "
        "nodes share (HF_HOME).",
        rb"\bhttp(?:x|core)\.\w{0,20}(?:Connect|Read|Network|Protocol|Proxy|Timeout)\w{0,20}: "
        rb"|ChunkedEncodingError: |CAS service error|CAS Client Error|LocalEntryNotFoundError: "
        rb"|Couldn't reach (?:[^\r\n]{0,300} on the Hub|the Hugging Face Hub for)|[Ww]e couldn't connect to 'http"
        rb"|OfflineModeIsEnabled: |(?:MaxRetry|Connection|Proxy|SSL|ConnectTimeout|ReadTimeout"
        rb"|Timeout)(?:Error)?[:(][^\r\n]{0,99}HTTPSConnectionPool\(host='[\w.-]{0,60}(?:huggingface\.co|hf\.co)'"
        rb"|50[0234] Server Error: [^\r\n]{0,200}huggingface\.co"
        rb"|HTTPSConnectionPool\(host='[\w.-]{0,60}(?:huggingface\.co|hf\.co)'[^\r\n]{0,99}: Max retries exceeded",
        sample="RuntimeError: Data processing error: CAS service error : odd",
    ),
    Signature(
        "access_denied",
        "Hugging Face has no model or file under this name, or the token has no access to it. Check name, revision "
        "and HF_TOKEN, or use a local copy.",
        rb"404 Client Error|(?<!registered\.)DatasetNotFoundError: |Error: Couldn't find (?:a |any (?!data file))",
        name="missing file of the hub",
        sample="requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://huggingface.co/meta/none/resolve/main/config.json",
    ),
    Signature(
        "access_denied",
        "The storage bucket denies access. Give this node credentials that can read and write it.",
        rb"\(AccessDenied\)|AccessDeniedException|NoCredentialsError|DefaultCredentialsError|Forbidden: 403"
        rb"|\(InvalidAccessKeyId\)|exceptions\.RefreshError: |\(ExpiredToken\w{0,20}\)|operation: Forbidden"
        rb"|Unauthorized: 401|does not have storage\.[\w.]{1,40} access"
        rb"|: Could not (?:locate|find) the credentials file|(?:PERMISSION_DENIED|UNAUTHENTICATED): Error "
        rb"(?:read|writ)ing (?!local file)|PermissionDeniedError: |HTTP response code 40[13]\b",
        more_specific_than=(
            "checkpoint under XLA",
            "status PERMISSION_DENIED",
        ),
        sample=(
            'ValueError: PERMISSION_DENIED: Error writing "odd" in gcs driver: Permission '
            "denied: HTTP response code: 403"
        ),
    ),
    Signature(
        "not_found",
        "The storage bucket has no such object. Check bucket, path and project.",
        rb"\(NoSuch(?:Bucket|Key)\)|exceptions\.NotFound: 404|operation: Not Found|specified bucket does not exist",
        more_specific_than=("checkpoint under XLA",),
        sample="ValueError: NOT_FOUND: Error writing gs://x/7: The specified bucket does not exist.",
    ),
    Signature(
        "hub_unreachable",
        "The storage bucket does not answer this node, or rate-limits it. Check network, proxy and region, and retry.",
        rb"EndpointConnectionError: |exceptions\.ConnectTimeoutError: |google\.auth\.exceptions\.TransportError"
        rb"|TooManyRequests: 429|ServiceUnavailable: 503|\(SlowDown\)|All \d{1,9} retry attempts failed"
        rb"|exceeded the rate limit for object mutation|: CURL error |api_core\.exceptions\.RetryError: ",
        more_specific_than=(
            "checkpoint under XLA",
            "status UNAVAILABLE",
        ),
        sample=("ValueError: UNAVAILABLE: Error reading gs://x/7: All 9 retry attempts failed: Service Unavailable"),
    ),
    Signature(
        "hub_unreachable",
        "A download failed. The text after curl says why; check name, network, proxy and certificates, or fetch it "
        "beforehand.",
        rb"(?m:^)curl: \(\d{1,3}\) ",
        sample="curl: (6) Could not resolve host: huggingface.co",
    ),
    Signature(
        "access_denied",
        "Weights & Biases denies access or cannot be reached. Set WANDB_API_KEY, or WANDB_MODE=offline.",
        rb"wandb\.(?:\w{1,40}\.){0,4}(?:UsageError|CommError|AuthenticationError): ",
        sample=(
            "wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])"
        ),
    ),
)
