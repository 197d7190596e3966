"""Cases of SG202."""
import logging
import os
import sys
from dataclasses import asdict

log = logging.getLogger(__name__)


def bulk(request, obj, payload):
    log.info("%s", locals())  # expect: SG202
    log.info("%s", vars(obj))  # expect: SG202
    log.info("%s", obj.__dict__)  # expect: SG202
    log.info("x", **payload)  # expect: SG202
    log.info("{a}".format_map(locals()))  # expect: SG202
    log.info("%s", request.model_dump())  # expect: SG202
    log.info("%s", request.json())  # expect: SG202
    log.info("%s", asdict(request))  # expect: SG202
    log.info("%s", sys.exc_info())  # expect: SG202
    log.info("%s", dict(os.environ))  # expect: SG202
    log.info("%s", os.environ)  # expect: SG202


def named(request, obj, values):
    log.info("%s", request.id)
    log.info("%s", os.environ["HOME"])
    log.info("%s", os.environ.get("HOME"))
    log.info("%s", asdict(values))
    log.error("failed", exc_info=True)
    mapping = locals()
    return mapping
