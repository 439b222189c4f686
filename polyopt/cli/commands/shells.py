"""``completion``: what a shell needs to complete commands, options and kernels' names."""

from __future__ import annotations

import click

#: shell -> the line that a user adds to the file that it reads at the start
_USES = {
    "bash": 'eval "$(polyopt completion bash)"  # in ~/.bashrc',
    "zsh": 'eval "$(polyopt completion zsh)"  # in ~/.zshrc',
    "fish": "polyopt completion fish | source  # in ~/.config/fish/config.fish",
}


@click.command(
    short_help="Print what makes a shell complete polyopt's commands.",
    epilog="\b\n" + "\n".join(_USES.values()),
)
@click.argument("shell", type=click.Choice(tuple(_USES)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the code with which SHELL completes polyopt's commands, options and kernels."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    root = ctx.find_root().command
    click.echo(found(root, {}, "polyopt", "_POLYOPT_COMPLETE").source())
