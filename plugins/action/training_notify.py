# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_notify: see the module of that name for its documentation."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path
from urllib.parse import urlsplit

from ansible.errors import AnsibleActionFail, AnsibleError

from ..plugin_utils.controller_action import ControllerAction, show

TIMEOUT_SECONDS = 10


class ActionModule(ControllerAction):
    """Notifies people of the end of a run, from the controller; a notification that fails is a line, not a failure."""

    def act(self) -> dict[str, t.Any]:
        """Send each notification, and return which were sent and why the others were not."""
        arguments = self.arguments(secret=("webhook", "webhook_headers", "slack", "mail"))
        from ..plugin_utils.report.text import notification

        ways: dict[str, t.Callable[[dict[str, t.Any]], None]] = {
            "webhook": lambda body: _post(arguments["webhook"], arguments["webhook_headers"], body),
            "slack": lambda body: self._module("slack", {**arguments["slack"], "msg": body["text"]}),
            "mail": lambda body: self._module("mail", {**_mail(body), **arguments["mail"]}),
        }
        wanted = [way for way in ways if arguments[way]]
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "not run in check mode"}
        sent, not_sent = [], {}
        for way in wanted:
            try:
                run_dir = Path(os.path.abspath(arguments["run_dir"]))
                ways[way](notification(run_dir, arguments["problem"], arguments["runs_url"]))
                sent.append(way)
            # Whatever goes wrong in a library or at the other end: the verdict is not at stake.
            except Exception as error:
                not_sent[way] = _without(str(error), _secrets(arguments))
                show(f"No notification by {way}: {not_sent[way]}. The verdict does not change.", "yellow")
        return {"changed": bool(sent), "sent": sent, "not_sent": not_sent}

    def _module(self, name: str, arguments: dict[str, t.Any]) -> None:
        """Run a module of community.general on the controller."""
        module = f"community.general.{name}"
        try:
            result = self._execute_module(module_name=module, module_args=arguments, task_vars=self.variables)
        except AnsibleError as error:
            if "not found" not in str(error):
                raise
            raise AnsibleActionFail(
                f"{module} is not installed; run: ansible-galaxy collection install community.general"
            ) from None
        if result.get("failed"):
            raise AnsibleActionFail(str(result.get("msg")))


def _post(url: str, headers: dict[str, str], body: dict[str, t.Any]) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("its URL must begin with https:// or http://")
    # It takes as long to load as all of our own, and few runs need it.
    from ansible.module_utils.urls import open_url

    open_url(
        url,
        method="POST",
        data=json.dumps(body),
        headers={"Content-Type": "application/json", **headers},
        timeout=TIMEOUT_SECONDS,
        http_agent="trainops.cluster",
    ).close()


def _mail(body: dict[str, t.Any]) -> dict[str, str]:
    return {"subject": f"{body['verdict']}  {body['run_id']}", "body": body["text"]}


def _secrets(arguments: dict[str, t.Any]) -> list[str]:
    """Return the secrets that no message may show; the path of a webhook's URL is often its password."""
    webhook = arguments["webhook"]
    found = [webhook, urlsplit(webhook).path.strip("/"), *arguments["webhook_headers"].values()]
    return [
        str(secret) for secret in (*found, arguments["slack"].get("token"), arguments["mail"].get("password")) if secret
    ]


def _without(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text.rstrip(".")
