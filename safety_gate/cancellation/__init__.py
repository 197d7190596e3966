"""How a cancellation travels: which handlers receive it, when it can arrive, whether it leaves again."""
