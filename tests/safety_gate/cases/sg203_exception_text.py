"""Cases of SG203, which is optional: `# strict:` marks what `--strict` finds."""
import logging
import traceback

log = logging.getLogger(__name__)


def texts(token):
    try:
        raise ValueError("bad token {}".format(token))
    except ValueError as e:
        log.error("auth: %s", e)  # strict: SG203
        log.error(f"auth: {e}")  # strict: SG203
        log.error(str(e))  # strict: SG203
        log.error("auth: %s", e.args)  # strict: SG203
        log.exception("auth")  # strict: SG203
        log.error("auth", exc_info=True)  # strict: SG203
        log.error(traceback.format_exc())  # strict: SG203


def names_only(x):
    try:
        x()
    except ValueError as e:
        log.error("auth: %s", type(e).__name__)
        log.error("auth", exc_info=False)
        log.error("auth")
