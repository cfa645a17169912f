/** Shells for which there is a script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/*
 * Each script asks `barlake completion SHELL -- WORDS...` for the candidates. The first line of the response says
 * whether the shell adds files or folders; each other line is a word, a tab, and what the word means.
 */
const BASH = `# Completion of barlake. In ~/.bashrc:  eval "$(barlake completion bash)"
_barlake() {
  local line kind="" current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
      continue
    fi
    line=\${line%%$'\\t'*}
    # Within quotes nothing is escaped.
    [[ $current == [\\"\\']* ]] || printf -v line '%q' "$line"
    COMPREPLY+=("$line")
  done < <("\${COMP_WORDS[0]}" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # A word that ends with = goes on.
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace
  case $kind in
    files | folders)
      local option=-f
      [[ $kind == folders ]] && option=-d
      if [[ \${#COMPREPLY[@]} -eq 0 ]]; then
        # Readline's own completion of names knows ~ and quotes.
        [[ $kind == folders ]] && compopt -o dirnames || compopt -o default
      else
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$option" -- "$current")
        compopt -o filenames
      fi
      ;;
  esac
}
complete -F _barlake barlake
`;

const ZSH = `#compdef barlake
# Completion of barlake. In ~/.zshrc, after compinit:  eval "$(barlake completion zsh)"
_barlake() {
  local -a lines values
  local line kind
  lines=("\${(@f)$("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  kind=\${lines[1]}
  for line in "\${(@)lines[2,-1]}"; do
    values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#values )) && _describe -t values barlake values
  case $kind in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [[ \${funcstack[1]} == _barlake ]]; then
  _barlake "$@"
else
  compdef _barlake barlake
fi
`;

const FISH = `# Completion of barlake. In ~/.config/fish/config.fish:  barlake completion fish | source
function __barlake_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] completion fish -- $words[2..-1] "$current" 2>/dev/null)
    printf '%s\\n' $lines[2..-1]
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current"
    end
end
complete -c barlake -f -a '(__barlake_complete)'
`;

/** The scripts that make shells complete the words of commands. */
export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
