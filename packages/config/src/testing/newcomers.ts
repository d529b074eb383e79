/** Mistakes of a first day: what shells, Docker, other gateways and guesses lead to (`mistakes.ts`). */
import type { Mistake } from './misplaced.ts';

export const newcomers: readonly Mistake[] = [
  [
    'several arguments in one text',
    'mcpServers:\n  a: { command: npx, args: ["-y pkg --flag"] }\n  b: { command: x, args: ["--header A: b c"] }\n',
    [
      'f.yaml:2:29: mcpServers.a.args[0]: is one argument with a blank in it: write "-y","pkg","--flag"',
      'f.yaml:3:27: mcpServers.b.args[0]: is one argument with a blank in it: write "--header","A: b c"',
    ],
  ],
  [
    'a pipe among the arguments',
    'mcpServers:\n  a: { command: npx, args: [-y, pkg, "|", tee, log] }\n',
    [
      'f.yaml:2:38: mcpServers.a.args[2]: "|" is handed to the program, since no shell reads this: leave it out, or write command: sh and args: ["-c", "…"] with the whole line',
    ],
  ],
  [
    'a line for a shell',
    'mcpServers:\n  a: { command: "cd /srv && npm start" }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: expected a program alone, and this is a line for a shell: write command: sh and args: ["-c","cd /srv && npm start"], got "cd /srv && npm start"',
    ],
  ],
  [
    'a container that hears nothing',
    'mcpServers:\n  a: { command: docker, args: [run, --rm, -e, KEY, mcp/x, -i] }\n',
    ['f.yaml:2:32: mcpServers.a.args[0]: without "-i" no message reaches the container: write "run", "-i"'],
  ],
  [
    'a container in the background',
    'mcpServers:\n  a: { command: podman, args: [run, -d, -i, mcp/x] }\n',
    [
      'f.yaml:2:37: mcpServers.a.args[1]: "-d" runs the container in the background, where no message reaches it: leave it out',
    ],
  ],
  [
    'the name of an image',
    'mcpServers:\n  a: { command: x, image: mcp/x, volumes: ["/a:/a"] }\n',
    [
      'f.yaml:2:20: mcpServers.a.image: unknown option; write command: docker and args: [run, --rm, -i, IMAGE]',
      'f.yaml:2:34: mcpServers.a.volumes: unknown option; write command: docker and args: [run, --rm, -i, -v, "FOLDER:FOLDER", IMAGE]',
    ],
  ],
  [
    'a variable with a blank in its name',
    'mcpServers:\n  a: { command: x, env: { "MY KEY": v } }\n',
    ['f.yaml:2:27: mcpServers.a.env.MY KEY: no program asks for a variable of this name: write "MY_KEY"'],
  ],
  [
    'a variable without a value',
    'mcpServers:\n  a:\n    command: x\n    env:\n      TOKEN:\n',
    ['f.yaml:5:7: mcpServers.a.env.TOKEN: expected a text: write "" for an empty text, or "${NAME}" for a variable'],
  ],
  [
    'the output of a command in backticks',
    'mcpServers:\n  a: { command: x, env: { K: "`cat token`" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.env.K: is passed on as it is, since no shell reads it: write "${NAME}" for an environment variable, or "${file:path}" for a file with the output of the command',
    ],
  ],
  [
    'tools with the name of their server',
    'mcpServers:\n  a: { command: x, includeTools: [a/read], excludeTools: [a__write] }\n',
    [
      'f.yaml:2:35: mcpServers.a.includeTools[0]: names of tools stand without their server here: write "read"',
      'f.yaml:2:59: mcpServers.a.excludeTools[0]: names of tools stand without their server here: write "write"',
    ],
  ],
  [
    'a header with its name in its value',
    'mcpServers:\n  a: { url: "https://x.example/mcp", headers: { Authorization: "Authorization: Bearer ${T:-t}" } }\n  b: { url: "https://x.example/mcp", headers: { Authorization: "Bearer: ${T:-t}" } }\n',
    [
      'f.yaml:2:49: mcpServers.a.headers.Authorization: its value begins with its name again: write Authorization: "Bearer …"',
      'f.yaml:3:49: mcpServers.b.headers.Authorization: a scheme has a blank behind it and no colon: write "Bearer …"',
    ],
  ],
  [
    'the page of a repository',
    'mcpServers:\n  a: { url: "https://github.com/modelcontextprotocol/servers" }\n  b: { url: "https://www.npmjs.com/package/x" }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: is the page of a repository, which people read: write the address of the server itself, or its program under "command", as the page says',
      'f.yaml:3:8: mcpServers.b.url: is the page of a repository, which people read: write the address of the server itself, or its program under "command", as the page says',
    ],
  ],
  [
    'rates in words of their own',
    'limits: { rules: [{ rate: 10 per minute }, { rate: 100/minute }, { rate: 100rpm }, { rate: 5 }, { rate: 2 a second }, { rate: 1 }] }\nmcpServers: {}\n',
    [
      'f.yaml:1:21: limits.rules[0].rate: expected a number of calls and a time, such as "10/s", "100/min" or "1000/h": write "10/min", got "10 per minute"',
      'f.yaml:1:46: limits.rules[1].rate: expected a number of calls and a time, such as "10/s", "100/min" or "1000/h": write "100/min", got "100/minute"',
      'f.yaml:1:68: limits.rules[2].rate: expected a number of calls and a time, such as "10/s", "100/min" or "1000/h": write "100/min", got "100rpm"',
      'f.yaml:1:86: limits.rules[3].rate: expected a text: write "5/min", got 5',
      'f.yaml:1:99: limits.rules[4].rate: expected a number of calls and a time, such as "10/s", "100/min" or "1000/h": write "2/s", got "2 a second"',
      'f.yaml:1:121: limits.rules[5].rate: expected a text: write "1/min", got 1',
    ],
  ],
  [
    'a rate elsewhere',
    'rateLimit: 10/s\nmcpServers:\n  a: { command: x, rateLimit: 10, retries: 3 }\n',
    [
      'f.yaml:1:1: rateLimit: unknown option; write limits: { rules: [{ rate: 100/min }] }',
      'f.yaml:3:20: mcpServers.a.rateLimit: unknown option; write limits: { rules: [{ what: [SERVER], rate: 10/s }] } at the top of the file',
      'f.yaml:3:35: mcpServers.a.retries: unknown option; leave it out: the gateway repeats a call only if its server has surely not begun it',
    ],
  ],
  [
    'a time for all calls',
    'timeouts: 30s\nmcpServers: {}\n',
    ['f.yaml:1:1: timeouts: expected a map: write { call: 30s }, got "30s"'],
  ],
  [
    'a time in quotes without its unit',
    'mcpServers:\n  a: { command: x, timeout: "30", connectTimeout: "30000" }\n',
    [
      'f.yaml:2:20: mcpServers.a.timeout: expected a duration such as "500ms", "30s", "10m", "1h" or "90d", or a number of milliseconds from 1000 on: write "30s", got "30"',
      'f.yaml:2:35: mcpServers.a.connectTimeout: expected a duration such as "500ms", "30s", "10m", "1h" or "90d", or a number of milliseconds from 1000 on: write "30000ms", got "30000"',
    ],
  ],
  [
    'web pages that may connect',
    'cors: "*"\nallowedOrigins: ["https://a.example"]\nmcpServers: {}\n',
    [
      'f.yaml:1:1: cors: unknown option; write security: { allowedOrigins: ["https://app.example.com"] }',
      'f.yaml:2:1: allowedOrigins: unknown option; write security: { allowedOrigins: ["https://app.example.com"] }',
    ],
  ],
  [
    'a second file',
    'include: other.yaml\nmcpServers: {}\n',
    [
      'f.yaml:1:1: include: unknown option; a configuration is one file; `omnibus import FILE` takes the servers of another one over',
    ],
  ],
  [
    'metrics to be switched on',
    'metrics: true\nmcpServers: {}\n',
    ['f.yaml:1:1: metrics: unknown option; leave it out: metrics are at /metrics of the address under `admin`'],
  ],
  [
    'the address of NATS under its options',
    'nats: nats://localhost:4222\nmcpServers: {}\n',
    [
      'f.yaml:1:1: nats: expected a map: write bus: "nats://localhost:4222"; `nats` has what else belongs to it, got "nats://localhost:4222"',
    ],
  ],
  [
    'true in place of a choice',
    'console: true\ncode: true\nmcpServers: {}\n',
    [
      'f.yaml:1:1: console: expected "auto", "off", "read" or "full": write "full", got true',
      'f.yaml:2:1: code: expected a map: write listing: code; `code` has the bounds of scripts, got true',
    ],
  ],
  [
    'a list of tools by another name',
    'listing: lazy\nmcpServers: {}\n',
    ['f.yaml:1:1: listing: expected "full", "search" or "code": write "search", got "lazy"'],
  ],
  [
    'a model by its name alone',
    'searchModel: minilm\nmcpServers: {}\n',
    ['f.yaml:1:1: searchModel: expected a map: write { folder: "minilm" }, got "minilm"'],
  ],
  [
    'guardrails as words',
    'guardrails: [pii]\nmcpServers: {}\n',
    ['f.yaml:1:14: guardrails[0]: expected a map: write { id: pii, patterns: [email, key] }, got "pii"'],
  ],
  [
    'a composite tool as a list of its calls',
    'mcpServers: { a: { command: x } }\ncomposites: { both: [a/x, a/y] }\n',
    [
      'f.yaml:2:15: composites.both: expected a map: write { description: "…", steps: [{ id: step1, call: a/x }, { id: step2, call: a/y }] }',
    ],
  ],
  [
    'profiles as a list',
    'mcpServers: { a: { command: x } }\nprofiles:\n  - { name: p, servers: [a] }\n',
    ['f.yaml:2:1: profiles: expected a map: write a map by their names, without `name`: { p: { … } }'],
  ],
  [
    'a public address without https',
    'publicUrl: mcp.example.com\nmcpServers: {}\n',
    [
      'f.yaml:1:1: publicUrl: expected the https:// address that clients use: write "https://mcp.example.com", got "mcp.example.com"',
    ],
  ],
  [
    'a file for audit records',
    'audit: /var/log/omnibus/audit.jsonl\nmcpServers: {}\n',
    [
      'f.yaml:1:1: audit: expected a map: write { sinks: [{ kind: file, folder: "/var/log/omnibus" }] }, got "/var/log/omnibus/audit.jsonl"',
    ],
  ],
];
