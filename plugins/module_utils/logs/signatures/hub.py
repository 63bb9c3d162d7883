# SPDX-License-Identifier: GPL-3.0-or-later
"""What huggingface_hub, transformers and what downloads for them say."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "hub_rate_limit",
        (b"429 Client Error", b"Too Many Requests"),
        "Hugging Face throttles: give a token (HF_TOKEN), wait and try again, or use a local copy or a cache that "
        "the nodes "
        "share (HF_HOME, HF_HUB_OFFLINE=1).",
        rb"429 Client Error|Error: [^\r\n]{0,300}429[^\r\n]{0,60}Too Many Requests",
    ),
    Signature(
        "access_denied",
        (
            b"gated repo",
            b"Client Error",
            b"ERROR 40",
            b"GatedRepoError",
            b"RepositoryNotFoundError",
            b"Invalid user token",
            b"Invalid credentials",
            b"Cannot access content",
        ),
        "Hugging Face does not hand out the model or tokenizer: ask for access on its page and give a token (HF_TOKEN) "
        "of an account that has it, or use a local copy.",
        (
            rb"trying to access a gated repo|Cannot access gated repo|(?:401|403) Client Error|ERROR (?:401|403): "
            rb"|GatedRepoError: "
            rb"|RepositoryNotFoundError: |Invalid user token|Invalid credentials in Authorization header"
            rb"|Cannot access content at: http"
        ),
    ),
    Signature(
        "tokenizer",
        (
            b"Can't load tokenizer",
            b"Can't load the",
            b"Can't load feature",
            b"not a valid model identifier",
            b"okenizer",
            b"EntryNotFoundError",
        ),
        "The tokenizer or model is not there: check its name or path, give a token, or use a local copy; a local "
        "folder of "
        "the same name hides that of Hugging Face.",
        (
            rb"Can't load (?:tokenizer|the configuration|the model|feature extractor) (?:for|of) "
            rb"|is not a valid model identifier"
            rb"|(?:FileNotFound|OS|Value|Runtime|NotFound|Assertion)Error: [^\r\n]{0,300}tokenizer(?:\.model"
            rb"|\.json|_config\.json|\.vocab)"
            rb"|Error: Tokenizer class |Couldn't instantiate the backend tokenizer|(?<!Local)EntryNotFoundError: "
        ),
    ),
    Signature(
        "hub_unreachable",
        (
            b"Couldn't reach",
            b"LocalEntryNotFoundError",
            b"couldn't connect to 'http",
            b"offline mode is enabled",
            b"OfflineModeIsEnabled",
            b"huggingface.co",
            b"hf.co",
        ),
        "Hugging Face cannot be reached from this node: check network, DNS and proxy, or use a local copy or a "
        "cache that "
        "the nodes share (HF_HOME).",
        (
            rb"LocalEntryNotFoundError: |Couldn't reach [^\r\n]{0,300} on the Hub|[Ww]e couldn't connect to 'http"
            rb"|OfflineModeIsEnabled: "
            rb"|(?:MaxRetry|Connection|Proxy|SSL|ConnectTimeout|ReadTimeout"
            rb"|Timeout)(?:Error)?[:(][^\r\n]{0,99}HTTPSConnectionPool\(host='[\w.-]{0,60}(?:huggingface\.co"
            rb"|hf\.co)'"
            rb"|50[0234] Server Error: [^\r\n]{0,200}huggingface\.co"
            rb"|HTTPSConnectionPool\(host='[\w.-]{0,60}(?:huggingface\.co"
            rb"|hf\.co)'[^\r\n]{0,99}: Max retries exceeded"
        ),
    ),
    Signature(
        "access_denied",
        (b"404 Client Error", b"DatasetNotFoundError"),
        "The model or file is not on Hugging Face under this name, or the token may not see it: check name, "
        "revision and "
        "HF_TOKEN, or use a local copy.",
        rb"404 Client Error|DatasetNotFoundError: ",
    ),
    Signature(
        "access_denied",
        (b"AccessDenied", b"NoCredentialsError", b"DefaultCredentialsError", b"Forbidden: 403", b"InvalidAccessKeyId"),
        "The storage bucket does not let the training in: give this node credentials that may read and write it.",
        rb"\(AccessDenied\)|AccessDeniedException|NoCredentialsError|DefaultCredentialsError|Forbidden: 403"
        rb"|\(InvalidAccessKeyId\)",
    ),
)
