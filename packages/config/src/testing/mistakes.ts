import { misplaced, type Mistake } from './misplaced.ts';
import { fromElsewhere } from './from-elsewhere.ts';
import { guesses } from './guesses.ts';
import { newcomers } from './newcomers.ts';

/**
 * Mistakes in configurations as people write them: a title, the file `f.yaml`, and each line that is said about it (problems, faults of servers, notes). Tests
 * put them through the reader, and through every command that reads such a file.
 */
export const mistakes: readonly Mistake[] = [
  [
    'a mistyped option of the top',
    'mcpServer: {}\n',
    ['f.yaml:1:1: mcpServer: unknown option; did you mean "mcpServers"?'],
  ],
  [
    'two letters that changed places',
    'mcpServers:\n  a: { ulr: "http://127.0.0.1:1/mcp" }\n',
    ['f.yaml:2:8: mcpServers.a.ulr: unknown option; did you mean "url"?'],
  ],
  [
    'arguments as one text',
    'mcpServers:\n  a: { command: npx, args: "-y foo" }\n',
    ['f.yaml:2:22: mcpServers.a.args: expected a list: ["-y","foo"], got "-y foo"'],
  ],
  [
    'a number in the environment',
    'mcpServers:\n  a: { command: npx, env: { PORT: 3000 } }\n',
    ['f.yaml:2:29: mcpServers.a.env.PORT: expected a text: put it in quotes'],
  ],
  [
    'a server twice',
    'mcpServers:\n  a: { command: x }\n  a: { command: y }\n',
    ['f.yaml:3:3: "a" stands twice in the same map: rename or remove one of them'],
  ],
  [
    'an address with half of its "://"',
    'mcpServers:\n  a: { url: "http//localhost:3000/mcp" }\n  b: { url: "https;//example.com/mcp" }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: expected an http://, https://, ws:// or wss:// address: write "http://localhost:3000/mcp", got "http//localhost:3000/mcp"',
      'f.yaml:3:8: mcpServers.b.url: expected an http://, https://, ws:// or wss:// address: write "https://example.com/mcp", got "https;//example.com/mcp"',
    ],
  ],
  [
    'an argument that a blank after its colon makes a map',
    'mcpServers:\n  a:\n    command: x\n    args:\n      - --header\n      - X-Name: value\n',
    [
      'f.yaml:6:9: mcpServers.a.args[1]: expected a text, and this is a map, since a blank follows a colon: put the item in quotes, "X-Name: …"',
    ],
  ],
  [
    'a port alone that is none',
    'listen: 99999\nmcpServers: {}\n',
    ['f.yaml:1:1: listen: expected HOST:PORT with a port of at most 65535, for example "127.0.0.1:7300", got 99999'],
  ],
  [
    'an address without http',
    'mcpServers:\n  a: { url: "localhost:3000/mcp" }\n  b: { url: "example.com/mcp" }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: expected an http://, https://, ws:// or wss:// address: write "http://localhost:3000/mcp", got "localhost:3000/mcp"',
      'f.yaml:3:8: mcpServers.b.url: expected an http://, https://, ws:// or wss:// address: write "https://example.com/mcp", got "example.com/mcp"',
    ],
  ],
  [
    'a server of a profile that is not there',
    'mcpServers: { files: { command: x } }\nprofiles:\n  p: { servers: [fils] }\n',
    [
      'f.yaml:3:18: profiles.p.servers[0]: there is no server "fils" under mcpServers (did you mean "files"?), got "fils"',
    ],
  ],
  [
    'globs that fit nothing',
    'mcpServers: { files: { command: x } }\nprofiles:\n  p: { tools: ["read_*", "file/read", "files/[", "files__read", "files", "files/*", "*/x", "*"] }\n',
    [
      'f.yaml:3:16: profiles.p.tools[0]: "read_*" matches nothing: a glob is over `server/tool`, such as "*/read_*"',
      'f.yaml:3:26: profiles.p.tools[1]: "file/read" matches nothing: there is no server "file" under mcpServers; did you mean "files"?',
      'f.yaml:3:39: profiles.p.tools[2]: "files/[" matches nothing: its "[" is not closed',
      'f.yaml:3:50: profiles.p.tools[3]: "files__read" matches nothing: a glob is over `server/tool`, such as "files/read"',
      'f.yaml:3:65: profiles.p.tools[4]: "files" matches nothing: a glob is over `server/tool`, such as "files/*"',
    ],
  ],
  [
    'a revision',
    'mcpServers:\n  a: { command: x, protocolVersion: "2025-06-18" }\n',
    [
      'f.yaml:2:20: mcpServers.a.protocolVersion: unknown option; the gateway agrees with each server on a revision; `era: legacy` or `era: modern` says which kind of server it is',
    ],
  ],
  [
    'tabs',
    'mcpServers:\n\ta:\n',
    ['f.yaml:2:1: this line is indented with a tab, and YAML takes blanks only: write two blanks for each tab'],
  ],
  [
    'a backslash in double quotes',
    String.raw`mcpServers: { a: { command: "C:\Users\me\node.exe" } }`,
    [
      'f.yaml:1:32: in double quotes a backslash begins an escape, and this is not a valid one: write \\\\ for each backslash of a path, or / instead, or put it in single quotes',
    ],
  ],
  [
    'a backslash that is an escape by chance',
    String.raw`mcpServers: { a: { command: "C:\tools\node.exe" } }`,
    [
      'f.yaml:1:20: mcpServers.a.command: this Windows path contains a control character, because "\\t", "\\n" and the like stand for one in double quotes; write \\\\ for each backslash, or use /, got "C:\\tools\\node.exe"',
    ],
  ],
  [
    'durations in words of their own',
    'timeouts: { call: 60, max: "1 minute" }\nmcpServers: {}\n',
    [
      'f.yaml:1:13: timeouts.call: a bare number is milliseconds here and seconds elsewhere: write "60s" or "60ms", got 60',
      'f.yaml:1:23: timeouts.max: expected a duration such as "500ms", "30s", "10m", "1h" or "90d", or a number of milliseconds from 1000 on: write "1m", got "1 minute"',
    ],
  ],
  [
    'durations of the audit without units',
    'audit: { sinks: [{ kind: file, folder: audit, keep: 90 }], strictWait: 5 }\nmcpServers: {}\n',
    [
      'f.yaml:1:47: audit.sinks[0].keep: a bare number is milliseconds here and seconds elsewhere: write "90s" or "90ms", got 90',
      'f.yaml:1:60: audit.strictWait: a bare number is milliseconds here and seconds elsewhere: write "5s" or "5ms", got 5',
    ],
  ],
  [
    'ports alone, wrong or with http',
    'listen: 7300\nadmin: ":7301"\n',
    [
      'f.yaml:1:1: listen: expected HOST:PORT: write "127.0.0.1:7300" for programs of this machine alone, or "0.0.0.0:7300" for every client that reaches it, got 7300',
      'f.yaml:2:1: admin: expected HOST:PORT: write "127.0.0.1:7301" for programs of this machine alone, or "0.0.0.0:7301" for every client that reaches it, got ":7301"',
    ],
  ],
  [
    'an address that is none',
    'listen: 127.0.0.999:7300\nadmin: "a b:7301"\n',
    [
      'f.yaml:1:1: listen: expected HOST:PORT with the name or an address of this machine, for example "127.0.0.1:7300", got "127.0.0.999:7300"',
      'f.yaml:2:1: admin: expected HOST:PORT with the name or an address of this machine, for example "127.0.0.1:7300", got "a b:7301"',
    ],
  ],
  [
    'a port that is none',
    'listen: 0.0.0.0:99999\nadmin: "http://127.0.0.1:7301"\n',
    [
      'f.yaml:1:1: listen: expected HOST:PORT with a port of at most 65535, for example "127.0.0.1:7300", got "0.0.0.0:99999"',
      'f.yaml:2:1: admin: expected HOST:PORT without http:// and path: write "127.0.0.1:7301", got "http://127.0.0.1:7301"',
    ],
  ],
  [
    'names with blanks, slashes and dots',
    'mcpServers:\n  "@acme/files": { command: x }\n  github.com: { command: x }\n',
    [
      'f.yaml:2:3: mcpServers.@acme/files: expected 1 to 64 characters of letters, digits, "_" and "-", for example "acme_files"',
      'f.yaml:3:3: mcpServers.github.com: expected 1 to 64 characters of letters, digits, "_" and "-", for example "github_com"',
    ],
  ],
  [
    'a command with its arguments',
    'mcpServers:\n  a: { command: "npx -y pkg" }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: expected a program alone: write command: npx and args: ["-y","pkg"], got "npx -y pkg"',
    ],
  ],
  [
    'two tools of one name, and a name that is none',
    'mcpServers: { f: { command: x } }\nprofiles:\n  p: { rename: { f/a: x, f/b: x, f/c: "no name!" } }\n',
    [
      'f.yaml:3:26: profiles.p.rename.f/b: f/a has this new name already, and two tools of one name cannot be told apart, got "x"',
      'f.yaml:3:34: profiles.p.rename.f/c: expected 1 to 128 characters of letters, digits, "_", "-" and ".", for example "no_name_", got "no name!"',
    ],
  ],
  [
    'numbers out of bounds and with a unit',
    'limits: { maxSessions: -1, maxBodyBytes: "8MB" }\n',
    [
      'f.yaml:1:11: limits.maxSessions: expected a number above 0, got -1',
      'f.yaml:1:28: limits.maxBodyBytes: expected a number: 8388608, got "8MB"',
    ],
  ],
  [
    'limits of what nothing can be',
    'limits: { rules: [{ rate: 1/s, what: ["a/{b,c", "!a/b", "a b"] }] }\n',
    [
      'f.yaml:1:39: limits.rules[0].what[0]: "[" or "{" is opened and not closed, and would stand for itself; write "\\[" or "\\{" if that is meant, got "a/{b,c"',
      'f.yaml:1:49: limits.rules[0].what[1]: "!" takes nothing away here; leave it out and say what is meant, or write a rule with `deny`, got "!a/b"',
      'f.yaml:1:57: limits.rules[0].what[2]: expected "server/tool", "prompt:server/name", "resource:server/uri", the name of a server, or "*", got "a b"',
    ],
  ],
  [
    'words that are not among the choices',
    'mcpServers: { a: { url: "http://x/mcp" } }\naccess: { rules: [{ who: everyone, deny: ["a/*"], only: readonly }, { who: 7, allow: [a] }] }\nlimits: { rules: [{ rate: 1/s, per: user }] }\n',
    [
      'f.yaml:2:51: access.rules[0].only: expected "readOnly", "destructive", "nonDestructive", "idempotent", "openWorld", "closedWorld" or "writes": write "readOnly", got "readonly"',
      'f.yaml:2:71: access.rules[1].who: expected a text: put it in quotes, got 7',
      'f.yaml:3:32: limits.rules[0].per: expected "principal", "tenant", "client", "server", "tool" or "everyone", got "user"',
    ],
  ],
  [
    'a line that is indented otherwise',
    'mcpServers:\n  a:\n    url: http://x/mcp\n   headers:\n',
    [
      'f.yaml:4:1: not YAML or JSON: the line is not indented as far as the others of its map or list: give it as many blanks in front as they have',
    ],
  ],
  [
    'options of other programs at the top and under a server',
    'tools: []\nmcpServers:\n  a: { command: x, disallowed_tools: [y], tools: {} }\n',
    [
      'f.yaml:1:1: tools: unknown option; write includeTools or excludeTools under each server, or `tools` of a profile',
      'f.yaml:3:20: mcpServers.a.disallowed_tools: unknown option; write excludeTools',
    ],
  ],
  [
    'a server with nothing',
    'mcpServers:\n  a:\n',
    [
      'f.yaml:2:3: mcpServers.a: expected a map, and there is no value: write "command" (a program to start) or "url" (a server to connect to) below it, indented',
    ],
  ],
  [
    'an alias inside its own part, and aliases without measure',
    'a: &x [*x]\n',
    [
      'f.yaml:1:1: an alias ("*name") stands inside the part that it refers to ("&name"), which has no end: write the part out',
    ],
  ],
  [
    'aliases of aliases',
    `a: &a [x]\n${'abcdefg'
      .split('')
      .slice(1)
      .map((name, index) => `${name}: &${name} [${`*${'abcdefg'[index] as string}, `.repeat(9)}]\n`)
      .join('')}`,
    ['f.yaml:1:1: aliases ("*name") refer to aliases so often that the file would be too large: write the parts out'],
  ],
  [
    'UTF-16',
    '\uFFFD\uFFFDm\0c\0p\0',
    [
      'f.yaml:1:1: this is no text in UTF-8: save it as UTF-8 (PowerShell writes UTF-16 with ">"; use Set-Content -Encoding utf8)',
    ],
  ],
  [
    'an address instead of a server',
    'mcpServers:\n  a: http://127.0.0.1:1/mcp\n',
    ['f.yaml:2:3: mcpServers.a: expected a map: write { url: "http://127.0.0.1:1/mcp" }, got "http://127.0.0.1:1/mcp"'],
  ],
  [
    'a header with its colon',
    'mcpServers:\n  a: { url: "http://x/mcp", headers: { "A:": b } }\n',
    [
      'f.yaml:2:40: mcpServers.a.headers.A:: this is no name of a header: expected letters, digits and "-", without a colon or blank',
    ],
  ],
  [
    'one address for two ports',
    'listen: 127.0.0.1:7300\nadmin: 127.0.0.1:7300\n',
    [
      'f.yaml:2:1: admin: clients connect to this address already (`listen`): choose another port, got "127.0.0.1:7300"',
    ],
  ],
  [
    'what only a shell would read',
    'mcpServers:\n  a: { command: x, args: ["~/files", "${HOME"], env: { K: "$TOKEN", L: "pa$WORD" } }\n  b: { url: "http://x/mcp", headers: { A: "Bearer $TOKEN" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.args[0]: no shell reads this, so "~" is passed on as it is: write "${HOME}" instead',
      'f.yaml:2:38: mcpServers.a.args[1]: a "${" in it is not closed, and is passed on as it is: write ${NAME}, or $${ for a plain ${',
      'f.yaml:2:56: mcpServers.a.env.K: "$TOKEN" is passed on as it is: write ${TOKEN} for the environment variable',
      'f.yaml:3:40: mcpServers.b.headers.A: "$TOKEN" is passed on as it is: write ${TOKEN} for the environment variable',
    ],
  ],
  [
    'what the kind of server has no use for',
    'mcpServers:\n  a: { url: "http://localhost:7300/mcp", env: { K: v } }\n  b: { command: docker, args: [run, --rm, -it, -e, K, mcp/x, -t], headers: { A: b } }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: is the address of this gateway itself (`listen`), which would be a server of its own',
      'f.yaml:2:42: mcpServers.a.env: has no effect: environment variables are for a program that the gateway starts ("command"), and this server runs already',
      'f.yaml:3:43: mcpServers.b.args[2]: "-it" gives the container a terminal, over which no messages can be sent: write "-i"',
      'f.yaml:3:67: mcpServers.b.headers: has no effect: headers are sent to a "url", and this server is a program on stdin and stdout; give it its secrets in "env"',
    ],
  ],
  [
    'a text',
    'just a text',
    ['f.yaml:1:1: expected a map of options, such as "mcpServers:", and this is a text, got "just a text"'],
  ],
  [
    'a fixed argument without its name',
    'mcpServers: { f: { command: x } }\nprofiles:\n  p: { pin: { f/read: "/home" } }\n',
    [
      'f.yaml:3:15: profiles.p.pin.f/read: expected a map: write the arguments that are fixed, by name: { NAME: "/home" }, got "/home"',
    ],
  ],
  ...misplaced,
  ...newcomers,
  ...guesses,
  ...fromElsewhere,
  ['a mark in front', '\uFEFFmcpServers: { a: { command: x } }\n', []],
];
