/** Mistakes of people who come from another program, or who copied from a web page: nesting, names, variables, characters and values (`mistakes.ts`). */
export type Mistake = readonly [what: string, text: string, lines: readonly string[]];

export const misplaced: readonly Mistake[] = [
  [
    'options of a server without its name',
    'mcpServers:\n  command: npx\n  args: [-y, pkg]\n',
    [
      'f.yaml:2:3: mcpServers.command: a server has a name, and its options stand below it: write mcpServers: { NAME: { command: …, args: … } }',
    ],
  ],
  [
    'mcpServers below itself',
    'mcpServers:\n  mcpServers:\n    a: { command: x }\n',
    [
      'f.yaml:2:3: mcpServers.mcpServers: this word stands above already: remove this line, and write its servers with fewer blanks in front',
    ],
  ],
  [
    'all options below a name of their own',
    'omnibus:\n  listen: 127.0.0.1:7300\n  mcpServers: { a: { command: x } }\n',
    [
      'f.yaml:1:1: omnibus: unknown option; remove this line, and write its options at the top of the file, without blanks in front: `listen`, `mcpServers`',
    ],
  ],
  [
    'an option of the top below a server',
    'mcpServers:\n  a: { command: x, listen: "127.0.0.1:1" }\n',
    [
      'f.yaml:2:20: mcpServers.a.listen: unknown option; write `listen` at the top of the file, without blanks in front',
    ],
  ],
  [
    'profiles among the servers',
    'mcpServers:\n  a: { command: x }\n  profiles:\n    p: { servers: [a] }\n',
    [
      'f.yaml:3:3: mcpServers.profiles: this is no server: write `profiles` at the top of the file, without blanks in front',
    ],
  ],
  [
    'a name with dashes',
    'mcp-servers:\n  a: { command: x }\n',
    ['f.yaml:1:1: mcp-servers: unknown option; did you mean "mcpServers"?'],
  ],
  [
    'names in the wrong case',
    'mcpServers:\n  a: { Command: x, ARGS: [y] }\n',
    [
      'f.yaml:2:8: mcpServers.a.Command: unknown option; did you mean "command"?',
      'f.yaml:2:20: mcpServers.a.ARGS: unknown option; did you mean "args"?',
    ],
  ],
  [
    'no in place of false',
    'mcpServers:\n  a: { command: x, disabled: no }\n',
    ['f.yaml:2:20: mcpServers.a.disabled: expected true or false: write false, without quotes, got "no"'],
  ],
  [
    'false in quotes',
    'mcpServers:\n  a: { command: x, disabled: "false" }\n',
    ['f.yaml:2:20: mcpServers.a.disabled: expected true or false: write false, without quotes, got "false"'],
  ],
  [
    'dashes that a word processor made longer',
    'mcpServers:\n  a: { command: npx, args: [–y, pkg, —port, "1"] }\n',
    [
      'f.yaml:2:29: mcpServers.a.args[0]: begins with a dash of typography, which programs read as text: write "-y"',
      'f.yaml:2:38: mcpServers.a.args[2]: begins with a dash of typography, which programs read as text: write "--port"',
    ],
  ],
  [
    'blanks of a web page',
    'mcpServers:\n\u00a0 a:\n\u00a0   command: x\n',
    ['f.yaml:2:1: this line is indented with a character that looks like a blank and is none (U+00A0): write blanks'],
  ],
  [
    'a wide colon',
    'mcpServers\uFF1A\n  a: { command: x }\n',
    ['f.yaml:1:11: this looks like a colon and is none (U+FF1A): write "mcpServers: "'],
  ],
  [
    'an equals sign in place of a colon',
    'mcpServers:\n  a:\n    command = npx\n',
    ['f.yaml:2:3: mcpServers.a: expected a map: write ": " in place of "=": "command: npx", got "command = npx"'],
  ],
  [
    'an option twice',
    'mcpServers:\n  a:\n    command: x\n    env: { A: "1" }\n    env: { B: "2" }\n',
    ['f.yaml:5:5: "env" stands twice in the same map: rename or remove one of them'],
  ],
  [
    'headers as a text',
    'mcpServers:\n  a: { url: "https://x.example/mcp", headers: "Authorization: Bearer x" }\n',
    ['f.yaml:2:38: mcpServers.a.headers: expected a map: write a map: { Authorization: "…" }'],
  ],
  [
    'a variable of PowerShell',
    'mcpServers:\n  a: { command: x, env: { K: "$env:TOKEN" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: "$env:TOKEN" is passed on as it is: write ${TOKEN} for the environment variable',
    ],
  ],
  [
    'a variable of Node.js',
    'mcpServers:\n  a: { command: x, env: { K: "process.env.TOKEN" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: "process.env.TOKEN" is passed on as it is: write ${TOKEN} for the environment variable',
    ],
  ],
  [
    'a variable of LiteLLM',
    'mcpServers:\n  a: { command: x, env: { K: "os.environ/TOKEN" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: "os.environ/TOKEN" is passed on as it is: write ${TOKEN} for the environment variable',
    ],
  ],
  [
    'a secret of a workflow',
    'mcpServers:\n  a: { command: x, env: { K: "${{ secrets.TOKEN }}" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: ${{ secrets.TOKEN } is not a reference: write ${TOKEN}; write $${ for a plain ${; this server stays down until that is mended',
    ],
  ],
  [
    'a default as only shells take it',
    'mcpServers:\n  a: { command: x, env: { K: "${TOKEN:=hunter2}", L: "${DB-psql://u:hunter2@h/d}" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: ${TOKEN:=...} is not a reference: write ${TOKEN:-...}; write $${ for a plain ${; this server stays down until that is mended',
      'f.yaml:2:51: mcpServers.a.env.L: ${DB-psql://...@h/d} is not a reference: write ${DB:-psql://...@h/d}; write $${ for a plain ${; this server stays down until that is mended',
    ],
  ],
  [
    'a variable that must be set, as Docker Compose writes it',
    'mcpServers:\n  a: { command: x, env: { K: "${TOKEN:?needed}" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: ${TOKEN:?needed} is not a reference: write ${TOKEN}, without which the server stays down; write $${ for a plain ${; this server stays down until that is mended',
    ],
  ],
  [
    'the output of a command',
    'mcpServers:\n  a: { command: x, env: { K: "$(cat token)" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: is passed on as it is, since no shell reads it: write "${NAME}" for an environment variable, or "${file:path}" for a file with the output of the command',
    ],
  ],
  [
    'a program of Windows with its arguments',
    'mcpServers:\n  a:\n    command: C:\\Program Files\\nodejs\\npx.cmd -y pkg\n',
    [
      'f.yaml:3:5: mcpServers.a.command: expected a program alone: write command: C:\\Program Files\\nodejs\\npx.cmd and args: ["-y","pkg"], got "C:\\\\Program Files\\\\nodejs\\\\npx.cmd -y pkg"',
    ],
  ],
  [
    'a number in quotes',
    'limits: { maxSessions: "100" }\nmcpServers: {}\n',
    ['f.yaml:1:11: limits.maxSessions: expected a number: write 100, without quotes, got "100"'],
  ],
  [
    'arguments as a map',
    'mcpServers:\n  a: { command: x, args: { port: 3000 } }\n',
    ['f.yaml:2:20: mcpServers.a.args: expected a list: write ["--port","3000"]'],
  ],
  [
    'an address under other names',
    'mcpServers:\n  a: { endpoint: "https://x.example/mcp" }\n  b: { uri: "https://x.example/mcp" }\n  c: { baseUrl: "https://x.example/mcp" }\n',
    [
      'f.yaml:2:3: mcpServers.a: expected "command" (a program to start) or "url" (a server to connect to)',
      'f.yaml:2:8: mcpServers.a.endpoint: unknown option; write url',
      'f.yaml:3:3: mcpServers.b: expected "command" (a program to start) or "url" (a server to connect to)',
      'f.yaml:3:8: mcpServers.b.uri: unknown option; write url',
      'f.yaml:4:3: mcpServers.c: expected "command" (a program to start) or "url" (a server to connect to)',
      'f.yaml:4:8: mcpServers.c.baseUrl: unknown option; write url',
    ],
  ],
  [
    'a transport under another name',
    'mcpServers:\n  a: { type: http-stream, url: "https://x.example/mcp" }\n',
    [
      'f.yaml:2:8: mcpServers.a.type: expected "stdio", "http", "streamable-http", "streamableHttp", "sse", "websocket" or "ws": write "http", got "http-stream"',
    ],
  ],
  [
    'a web page',
    '<!DOCTYPE html>\n<html></html>\n',
    ['f.yaml:1:1: this is a web page and no configuration: download the file itself, for example with "Raw" at GitHub'],
  ],
  [
    'TOML in a file of YAML',
    '[mcpServers.a]\ncommand = "x"\n',
    ['f.yaml:1:1: this is TOML: give the file a name that ends in .toml'],
  ],
  [
    'tools of a profile by server',
    'mcpServers: { a: { command: x } }\nprofiles: { p: { tools: { a: [read] } } }\n',
    ['f.yaml:2:18: profiles.p.tools: expected a list: write ["a/read"]'],
  ],
  [
    'a mode of the list as an option',
    'listing: { search: true }\nmcpServers: {}\n',
    ['f.yaml:1:12: listing.search: unknown option; write listing: search'],
  ],
  [
    'a bound on results as a number',
    'results: 2000\nmcpServers: {}\n',
    ['f.yaml:1:1: results: expected "off": write { maxTokens: 2000 }, got 2000'],
  ],
  [
    'a token for callers in the file',
    'auth: { token: abc }\nmcpServers: {}\n',
    [
      'f.yaml:1:1: auth: expected a way for callers to prove who they are, such as `keys: { file: keys.yaml }`, or "none"',
      'f.yaml:1:9: auth.token: unknown option; write keys: { file: keys.yaml }, and make a key with "omnibus keys create"',
    ],
  ],
  [
    'rules without their name',
    'access: [{ who: everyone, allow: ["*"] }]\nmcpServers: {}\n',
    ['f.yaml:1:1: access: expected a map: write { rules: [...] }'],
  ],
  [
    'rules as other programs write them',
    'access: { rules: [{ user: bob, action: deny, tools: ["*"] }] }\nmcpServers: {}\n',
    [
      'f.yaml:1:19: access.rules[0].who: expected a text, and it is missing',
      'f.yaml:1:21: access.rules[0].user: unknown option; write who: NAME',
      'f.yaml:1:32: access.rules[0].action: unknown option; write the targets under allow, deny or ask',
      'f.yaml:1:46: access.rules[0].tools: unknown option; write the targets under allow, deny or ask, as "server/tool"',
    ],
  ],
];
