#!/bin/sh
# Manual pages and completions of an installation: there for every command, with every option, well-formed where mandoc,
# zsh and fish are installed. Usage: tests/package/manual.sh BUILD; CMAKE is heeded. SPDX-License-Identifier: Apache-2.0
set -eu
build=$1
CMAKE=${CMAKE:-cmake}
unset LD_LIBRARY_PATH || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() { echo "manual: $*" >&2; exit 1; }
"$CMAKE" --install "$build" --prefix "$work/larmor" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
share=$work/larmor/share
PATH=$work/larmor/bin:$PATH
export PATH
gzip -df "$share"/man/man1/*.gz 2>/dev/null || true

# of each command a page with each option that the help has, each word of its help, and its choices
for program in larmor larmor-bench; do
    page=$share/man/man1/$program.1
    [ -s "$page" ] || fail "no page of $program"
    sed 's/\\-/-/g' "$page" >"$work/program"
    for command in $("$program" completion --words ""); do
        grep -qF "$program-$command(1)" "$work/program" || fail "$program.1 does not name $command"
        page_of=$share/man/man1/$program-$command.1
        [ -s "$page_of" ] || fail "no page of $program $command"
        "$program" "$command" --help | sed -nE 's/^ {2}(-., )? *(--[a-z0-9-]+).*/\2/p' >"$work/options"
        sed 's/\\-/-/g; s/\\f.//g' "$page_of" >"$work/plain"
        while read -r option; do
            grep -qE -e "^(-., )?$option( |\$)" "$work/plain" || fail "$program-$command.1 lacks $option"
        done <"$work/options"
        grep -qF "larmor $("$work/larmor/bin/larmor" version | sed -n 's/^larmor //p')" "$work/plain" ||
            fail "$program-$command.1 is of another version"
    done
done
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$share"/man/man1/*.1 >"$work/lint" 2>&1 || true
    ! grep -v 'missing date' "$work/lint" || fail "mandoc complains" # what is not released has none
    mandoc -T utf8 "$share/man/man1/larmor-recon.1" | sed 's/.\x08//g' | grep -q -e '--lambda X' ||
        fail "mandoc shows no --lambda"
else
    echo "manual: no mandoc"
fi
if command -v man >/dev/null; then
    for page in "$share"/man/man1/*.1; do
        LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -l "$page" >"$work/shown" 2>"$work/warned" || fail "man fails at $page"
        [ ! -s "$work/warned" ] || { cat "$work/warned" >&2; fail "man warns of $page"; }
    done
fi

# bash, from its folder
if command -v bash >/dev/null; then
    offered=$(bash -c ". '$share/bash-completion/completions/larmor'
        COMP_WORDS=(larmor recon --method t); COMP_CWORD=3; _larmor; echo \"\${COMPREPLY[*]}\"")
    [ "$offered" = "tv tgv" ] || fail "bash offers \"$offered\" for --method t"
fi
# zsh, in a terminal of its own, as a user presses the key
if command -v zsh >/dev/null; then
    zsh -n "$share/zsh/site-functions/_larmor" || fail "zsh does not read _larmor"
    cat >"$work/ask.zsh" <<'Z'
zmodload zsh/zpty
zpty shell zsh -f
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' expand-or-complete"
zpty -w shell "stty -echo; cd $2; setopt no_beep; zstyle ':completion:*' list-prompt ''; LISTMAX=1000"
zpty -n -w shell $'larmor recon --method wav\t\n'
sleep 3
zpty -w shell $'exit'
zpty -r -m shell all '*exit*' || zpty -r shell all
print -r -- "$all"
Z
    mkdir "$work/empty"
    timeout 30 zsh -f "$work/ask.zsh" "$share/zsh/site-functions" "$work/empty" >"$work/zsh" 2>&1 || true
    grep -q 'method wavelet' "$work/zsh" || { cat "$work/zsh" >&2; fail "zsh does not complete --method wav"; }
fi
if command -v fish >/dev/null; then
    fish -n "$share/fish/vendor_completions.d/larmor.fish" || fail "fish does not read larmor.fish"
    HOME=$work fish -c "source $share/fish/vendor_completions.d/larmor.fish; complete -C 'larmor recon --method t'" \
        >"$work/fish" 2>&1
    grep -q '^tv	total variation' "$work/fish" || { cat "$work/fish" >&2; fail "fish does not complete --method t"; }
    touch "$work/some.h5"
    (cd "$work" && HOME=$work fish -c "source $share/fish/vendor_completions.d/larmor.fish
        complete -C 'larmor recon som'") >"$work/fish" 2>&1
    grep -q '^some.h5' "$work/fish" || { cat "$work/fish" >&2; fail "fish does not offer files"; }
fi
echo "manual: every command has its page, and shells complete"
