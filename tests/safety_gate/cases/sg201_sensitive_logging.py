"""Cases of SG201."""
import argparse
import hashlib
import json
import logging
import math
import sys
import warnings
from distutils import log as distutils_log
from multiprocessing import log_to_stderr
from string import Template

import numpy as np
import sentry_sdk
import structlog
from pydantic import SecretStr
from loguru import logger as loguru_logger
from opentelemetry import trace

from app.obs import LOGGER

log = logging.getLogger(__name__)
slog = structlog.get_logger()
mp_logger = log_to_stderr()
adapter = logging.LoggerAdapter(log, {})


def arguments_of_calls(prompt, password, resp, user, messages, token):
    log.info("asked %s", prompt)  # expect: SG201
    log.info("asked " + prompt)  # expect: SG201
    log.info("asked %s" % prompt)  # expect: SG201
    log.info("%(pw)s" % {"pw": password})  # expect: SG201
    log.info("asked {}".format(prompt))  # expect: SG201
    log.info(f"asked {prompt}")  # expect: SG201
    log.info(f"{prompt=}")  # expect: SG201
    log.info(f"{user:{password}}")  # expect: SG201
    log.info(Template("$p").substitute(p=prompt))  # expect: SG201
    log.log(logging.DEBUG, token)  # expect: SG201
    log.info("%s", str(prompt))  # expect: SG201
    log.info("%s", json.dumps(messages))  # expect: SG201
    log.info("%s", [m for m in messages])
    log.info("%s", [prompt for _ in range(2)])  # expect: SG201
    log.info("%s", prompt[:80])  # expect: SG201
    log.info("%s", prompt.strip())  # expect: SG201
    log.info("%s", user.password)  # expect: SG201
    log.info("%s", resp["password"])  # expect: SG201
    log.info("x", extra={"prompt": prompt})  # expect: SG201
    log.info("x", extra={"authorization": resp.headers["authorization"]})  # expect: SG201
    log.critical("p=%s", password)  # expect: SG201
    log.info("%s", password.get_secret_value())  # expect: SG201


def loggers(payload, secret):
    logging.getLogger("x").getChild("y").error(payload)  # expect: SG201
    adapter.warning("%s", payload)  # expect: SG201
    LOGGER.info("%s", secret)  # expect: SG201
    slog.info("x", password=secret)  # expect: SG201
    slog.bind(token=secret).info("x")  # expect: SG201
    structlog.contextvars.bind_contextvars(api_key=secret)  # expect: SG201
    loguru_logger.opt(lazy=True).debug("{}", lambda: secret)  # expect: SG201
    warnings.warn(f"bad {secret}")  # expect: SG201
    print(secret)  # expect: SG201
    sentry_sdk.set_extra("x", secret)  # expect: SG201
    trace.get_current_span().set_attribute("gen_ai.prompt", payload)  # expect: SG201


class Service:
    def __init__(self):
        self.log = logging.getLogger("s")
        self.payload = None

    def run(self, request):
        self.log.info("%s", self.payload)  # expect: SG201
        self.log.info("%s", request.body)  # expect: SG201
        self.sanitize(self.payload)


def one_hop(prompt, password):
    message = f"asked {prompt}"
    log.info(message)  # expect: SG201
    p = password
    log.info("%s", p)  # expect: SG201
    text = "a"
    text += prompt
    log.info(text)  # expect: SG201


def metadata(prompt, prompt_tokens, token_count, request_id, payload, response, prompt_id, secret_name):
    log.info("prompt accepted")
    log.info("%d", len(prompt))
    log.info("%d", prompt_tokens)
    log.info("%s", token_count)
    log.info("%s", request_id)
    log.info("%s", payload.size)
    log.info("%s", response.status_code)
    log.info("%s %s", prompt_id, secret_name)
    log.info("%s", prompt is None)
    log.info("x", extra={"prompt": len(prompt)})
    slog.info("x", token=bool(prompt))


def sanitised(prompt, token, redact):
    log.info("%s", redact(prompt))
    log.info("%s", hashlib.sha256(token).hexdigest()[:8])
    token = redact(token)
    log.info("%s", token)
    password = "*" * 8
    log.info("%s", "none" if token else "some")
    return password


def not_sinks(arguments, payload, message, secretary, tokenizer, num_uncertainty, x):
    math.log(arguments)
    np.log(arguments)
    log.sanitize(payload)
    text = message.content
    log.info("%s %s %s", secretary.name, tokenizer.vocab_size, num_uncertainty)
    x.error(payload)
    return text


def parsed():
    arguments = argparse.ArgumentParser().parse_args()
    log.info("%s", arguments)


def masked(password: SecretStr):
    log.info("%s", password)
    log.info("%s", password.get_secret_value())  # expect: SG201


def other_logs(password):
    distutils_log.info(password)
    mp_logger.info(password)  # expect: SG201


class Panel:
    def info(self, text):
        return text


def other_class(password):
    return Panel().info(password)
