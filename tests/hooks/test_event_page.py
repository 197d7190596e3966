from tramapy import CATALOGUE, RuntimeEventCatalogue, RuntimeEventDefinition
from tramapy.hooks.event_model import RuntimeEventDomain
from tramapy.hooks.event_page import TRAMAI_KEYS, render_event_page


def test_the_rendering_is_always_the_same() -> None:
    assert render_event_page(CATALOGUE) == render_event_page(CATALOGUE)


def test_every_event_attribute_and_metric_is_rendered() -> None:
    page = render_event_page(CATALOGUE)
    for name in (
        *(event.name for event in CATALOGUE),
        *CATALOGUE.keys,
        *(metric.name for metric in CATALOGUE.metrics),
    ):
        assert f"`{name}`" in page


def test_an_event_without_attributes_or_metric_has_a_dash_in_their_place() -> None:
    bare = RuntimeEventDefinition(name="shop.opened", domain=RuntimeEventDomain.ENGINE, description="Open")
    page = render_event_page(RuntimeEventCatalogue([bare]))
    assert "| `shop.opened` | Open | — | — |" in page
    assert "| `shop.opened` | engine | internal | no | no | yes | — | fail open |" in page


def test_a_bar_in_a_text_does_not_end_its_cell() -> None:
    barred = RuntimeEventDefinition(name="shop.opened", domain=RuntimeEventDomain.ENGINE, description="a | b")
    assert "| a \\| b |" in render_event_page(RuntimeEventCatalogue([barred]))


def test_keys_of_tramai_map_to_keys_that_exist() -> None:
    assert {mapping.key for mapping in TRAMAI_KEYS} <= set(CATALOGUE.keys)


def test_the_page_ends_in_one_newline() -> None:
    assert render_event_page(CATALOGUE).rstrip("\n") + "\n" == render_event_page(CATALOGUE)
