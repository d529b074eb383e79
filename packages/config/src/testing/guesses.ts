/** Mistakes of guesses (`mistakes.ts`): options by the names of other programs, lists and words in other places, characters with a meaning in YAML. */
import type { Mistake } from './misplaced.ts';

export const guesses: readonly Mistake[] = [
  [
    'the section of servers with a capital',
    'Servers:\n  a: { command: x }\nmcpServers: {}\n',
    ['f.yaml:1:1: Servers: unknown option; write mcpServers'],
  ],
  [
    'a program and its arguments by other names',
    'mcpServers:\n  a: { command: x, program: npx, arguments: [x], parameters: [y] }\n',
    [
      'f.yaml:2:20: mcpServers.a.program: unknown option; write command',
      'f.yaml:2:34: mcpServers.a.arguments: unknown option; write args',
      'f.yaml:2:50: mcpServers.a.parameters: unknown option; write args',
    ],
  ],
  [
    'a server by its port, and a program with one',
    'mcpServers:\n  a: { host: 10.0.0.7, port: 8080 }\n  b: { command: x, port: 8080 }\n',
    [
      'f.yaml:2:3: mcpServers.a: expected "command" (a program to start) or "url" (a server to connect to)',
      'f.yaml:2:8: mcpServers.a.host: unknown option; write url: http://10.0.0.7:8080/mcp',
      'f.yaml:2:24: mcpServers.a.port: unknown option; write url: http://10.0.0.7:8080/mcp',
      'f.yaml:3:20: mcpServers.b.port: unknown option; leave it out, since a program that the gateway starts speaks on stdin and stdout; start one that listens yourself, and write url: http://127.0.0.1:8080/mcp in place of command',
    ],
  ],
  [
    'a working directory by another name',
    'mcpServers:\n  a: { command: x, workingDirectory: /p, workdir: /q }\n',
    [
      'f.yaml:2:20: mcpServers.a.workingDirectory: unknown option; write cwd',
      'f.yaml:2:42: mcpServers.a.workdir: unknown option; write cwd',
    ],
  ],
  [
    'a server with its name among its options',
    'mcpServers:\n  a: { command: x, name: gh, alias: hub }\n',
    [
      'f.yaml:2:20: mcpServers.a.name: unknown option; a server has the name above its options: write it there',
      'f.yaml:2:30: mcpServers.a.alias: unknown option; a server has the name above its options: write it there',
    ],
  ],
  [
    'a prefix for the tools of one server',
    'mcpServers:\n  a: { command: x, prefix: gh }\n',
    [
      'f.yaml:2:20: mcpServers.a.prefix: unknown option; names of tools begin with the name of their server: write another name above its options, or prefix: never at the top of the file',
    ],
  ],
  [
    'tools that are blocked',
    'mcpServers:\n  a: { command: x, blockedTools: [w], deniedTools: [v] }\n',
    [
      'f.yaml:2:20: mcpServers.a.blockedTools: unknown option; write excludeTools',
      'f.yaml:2:39: mcpServers.a.deniedTools: unknown option; write excludeTools',
    ],
  ],
  [
    'a sign-in as clients write it',
    'mcpServers:\n  a: { url: "https://x.example/mcp", oauth: true }\n',
    [
      'f.yaml:2:38: mcpServers.a.oauth: an option of clients, which has no effect here: where users sign in at the server, write credentials: { kind: oauth }',
    ],
  ],
  [
    'credentials without their kind',
    'mcpServers:\n  a: { url: "https://x.example/mcp", credentials: { clientId: abc } }\n',
    [
      'f.yaml:2:38: mcpServers.a.credentials.kind: expected "client", "oauth", "exchange", "enterprise" or "aws": write kind: oauth where each user signs in; a token that all callers share stands under `headers`',
    ],
  ],
  [
    'an OpenAPI document under the address of a server',
    'mcpServers:\n  a: { openapi: true, url: "https://x.example/openapi.json" }\n',
    [
      'f.yaml:2:8: mcpServers.a.openapi: expected a text: write the file or address of the document: openapi: "https://HOST/openapi.json", and leave `url` out, got true',
    ],
  ],
  [
    'a program with the rights of another user',
    'mcpServers:\n  a: { command: sudo, args: [npx, pkg] }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: asks for a password, and the gateway has no terminal for it: write command: npx, and start the gateway as the user that the server needs',
    ],
  ],
  [
    'a program with the rights of another user, behind a variable',
    'mcpServers:\n  a: { command: sudo, args: [TOKEN=s3cret, npx, x] }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: asks for a password, and the gateway has no terminal for it: write command: npx, and start the gateway as the user that the server needs',
    ],
  ],
  [
    'a program behind options of sudo',
    'mcpServers:\n  a: { command: sudo, args: [-n, -u, bob, -Eg, staff, -uroot, --host=h, --, A=b, npx, x] }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: asks for a password, and the gateway has no terminal for it: write command: npx, and start the gateway as the user that the server needs',
    ],
  ],
  [
    'an unclear program behind options of sudo',
    'mcpServers:\n  a: { command: sudo, args: [--user, bob, npx] }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: asks for a password, and the gateway has no terminal for it: write command: PROGRAM, and start the gateway as the user that the server needs',
    ],
  ],
  [
    'sudo with a variable alone',
    'mcpServers:\n  a: { command: sudo, args: [TOKEN=s3cret] }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: asks for a password, and the gateway has no terminal for it: write command: PROGRAM, and start the gateway as the user that the server needs',
    ],
  ],
  [
    'quotes of a shell in an argument',
    'mcpServers:\n  a: { command: x, args: ["\'--flag\'", "\'a b\'"] }\n',
    [
      'f.yaml:2:27: mcpServers.a.args[0]: keeps its quotes, which no shell removes here: write "--flag"',
      'f.yaml:2:39: mcpServers.a.args[1]: keeps its quotes, which no shell removes here: write "a b"',
    ],
  ],
  [
    'a host to listen on without its port',
    'listen: localhost\nadmin: 0.0.0.0\nmcpServers: {}\n',
    [
      'f.yaml:1:1: listen: expected HOST:PORT, for example "127.0.0.1:7300": write "localhost:7300", got "localhost"',
      'f.yaml:2:1: admin: expected HOST:PORT, for example "127.0.0.1:7300": write "0.0.0.0:7301", got "0.0.0.0"',
    ],
  ],
  [
    'a rate for all calls',
    'limits: 100 per minute\nmcpServers: {}\n',
    ['f.yaml:1:1: limits: expected a map: write { rules: [{ rate: 100/min }] }, got "100 per minute"'],
  ],
  [
    'a rate beside the rules',
    'limits: { rate: 10/s, requests: 5 }\nmcpServers: {}\n',
    [
      'f.yaml:1:11: limits.rate: unknown option; write rules: [{ rate: 100/min }]',
      'f.yaml:1:23: limits.requests: unknown option; write rules: [{ rate: 100/min }]',
    ],
  ],
  [
    'one limit without the list',
    'limits: { rules: { rate: 10/s } }\nmcpServers: {}\n',
    [
      'f.yaml:1:11: limits.rules: expected a list: write its "- " in front of the first option of each entry: - rate: …',
    ],
  ],
  [
    'one rule without the list',
    'access: { rules: { who: everyone, allow: ["*"] } }\nmcpServers: {}\n',
    ['f.yaml:1:11: access.rules: expected a list: write its "- " in front of the first option of each entry: - who: …'],
  ],
  [
    'allowed tools without a rule',
    'access: { allow: ["*"], deny: [a] }\nmcpServers: {}\n',
    [
      'f.yaml:1:11: access.allow: unknown option; write rules: [{ who: everyone, allow: ["SERVER/TOOL"] }]',
      'f.yaml:1:25: access.deny: unknown option; write rules: [{ who: everyone, deny: ["SERVER/TOOL"] }]',
    ],
  ],
  [
    'another message bus',
    'bus: redis://localhost:6379\nmcpServers: {}\n',
    [
      'f.yaml:1:1: bus: expected "memory" or "nats://host:port": write "nats://127.0.0.1:4222", got "redis://localhost:6379"',
    ],
  ],
  [
    'encryption by other names',
    'ssl: true\nhttps: true\nmcpServers: {}\n',
    [
      'f.yaml:1:1: ssl: unknown option; write tls: { certFile: cert.pem, keyFile: key.pem }',
      'f.yaml:2:1: https: unknown option; write tls: { certFile: cert.pem, keyFile: key.pem }',
    ],
  ],
  [
    'a path in front of the gateway',
    'basePath: /api\nmcpServers: {}\n',
    [
      'f.yaml:1:1: basePath: unknown option; write publicUrl: "https://HOST/PATH", and let the proxy in front pass the path on',
    ],
  ],
  [
    'the version of a file',
    'version: "3"\napiVersion: v1\nmcpServers: {}\n',
    [
      'f.yaml:1:1: version: unknown option; leave it out: a configuration has none',
      'f.yaml:2:1: apiVersion: unknown option; leave it out: a configuration has none',
    ],
  ],
  [
    'a switch for the search of tools',
    'search: true\nmcpServers: {}\n',
    ['f.yaml:1:1: search: unknown option; write listing: search'],
  ],
  [
    'a number of workers',
    'workers: 4\nreplicas: 2\nmcpServers: {}\n',
    [
      'f.yaml:1:1: workers: unknown option; start with `omnibus serve --workers 4`',
      'f.yaml:2:1: replicas: unknown option; start with `omnibus serve --workers 4`',
    ],
  ],
  [
    'a password for all callers',
    'token: abc\nusers: [ann]\nmcpServers: {}\n',
    [
      'f.yaml:1:1: token: unknown option; write auth: { keys: { file: keys.yaml } }',
      'f.yaml:2:1: users: unknown option; write auth: { keys: { file: keys.yaml } }',
    ],
  ],
  [
    'comments of JavaScript in YAML',
    '// my servers\nmcpServers:\n  a: { command: x }\n',
    ['f.yaml:1:1: a comment of YAML begins with "#": write # in place of //'],
  ],
  [
    'a value in braces that begins with a number sign',
    'mcpServers:\n  a: { command: x, env: { CHANNEL: #general } }\n',
    [
      'f.yaml:3:1: not YAML or JSON: a "{" before this place is not closed: write its "}"; "#…" and the rest of its line are a comment: put the value in quotes',
    ],
  ],
  [
    'a password in braces that begins with a number sign, below an innocent comment',
    'mcpServers:\n  b: { command: x, # the {program}\n    env: { A: b } }\n  c: # [x]\n    { command: "y: #b }" }\n  a: { command: x, env: { PASSWORD: #hunter2 } }\n\n# end }\n',
    [
      'f.yaml:9:1: not YAML or JSON: a "{" before this place is not closed: write its "}"; "#…" and the rest of its line are a comment: put the value in quotes',
    ],
  ],
  [
    'a password that begins with an exclamation mark',
    'mcpServers:\n  a: { command: x, env: { PASSWORD: !hunter2 } }\n',
    ['f.yaml:2:37: "!…" without quotes is a tag of YAML and no text: put it in quotes'],
  ],
  [
    'a password that begins with a star',
    'mcpServers:\n  a: { command: x, env: { PASSWORD: *hunter2 } }\n',
    ['f.yaml:2:37: "*…" without quotes refers to a part of this file that has no such name: put it in quotes'],
  ],
  [
    'braces that are open at the end, with a comment and a number sign elsewhere',
    'mcpServers:\n  c:\n    #note }\n    { command: x, # the }\n      args: ["y: #b }", z] # #c }\n',
    ['f.yaml:6:1: not YAML or JSON: a "{" before this place is not closed: write its "}"'],
  ],
  [
    'arguments as lines without their dashes',
    'mcpServers:\n  a:\n    command: npx\n    args:\n      -y\n      pkg\n',
    ['f.yaml:4:5: mcpServers.a.args: expected a list: ["-y","pkg"], got "-y pkg"'],
  ],
  [
    'a file with a second document',
    'mcpServers: {}\n---\nmcpServers: {}\n',
    [
      'f.yaml:2:1: "---" begins a second document, and a configuration is one: remove the line, or write each into a file of its own',
    ],
  ],
  [
    'a name of a package without quotes',
    'mcpServers:\n  a:\n    command: npx\n    args:\n      - @scope/pkg\n',
    ['f.yaml:5:9: a text that begins with "@" needs quotes'],
  ],
  [
    'a pattern for all without quotes',
    'mcpServers: { a: { command: x } }\nprofiles:\n  p:\n    tools:\n      - *\n',
    ['f.yaml:5:9: "*" without quotes refers to a part of this file: put it in quotes'],
  ],
  [
    'an exception without quotes',
    'mcpServers: { a: { command: x } }\nprofiles:\n  p:\n    tools:\n      - !a/write\n',
    ['f.yaml:5:9: "!…" without quotes is a tag of YAML and no text: put it in quotes'],
  ],
  [
    'a text with a colon in it',
    'mcpServers:\n  a:\n    command: x\n    env:\n      LOGIN: user: pass\n',
    ['f.yaml:5:14: the text has ": " in it, which begins another option: put the text in quotes'],
  ],
  [
    'truth and nothing as variables',
    'mcpServers:\n  a: { command: x, env: { DEBUG: true, EMPTY: null } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.DEBUG: expected a text: put it in quotes',
      'f.yaml:2:40: mcpServers.a.env.EMPTY: expected a text: write "" for an empty text, or "${NAME}" for a variable',
    ],
  ],
];
