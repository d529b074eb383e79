/** The groups of commands in the help and in the documents, each with examples. */
import type { Command } from 'commander';

interface Group {
  readonly title: string;
  /** By the name of a command below `omnibus`, in the order of the help. */
  readonly commands: Readonly<Record<string, Shown>>;
}

interface Shown {
  /** The line in the list of commands, where the description is too long for it. */
  readonly summary?: string;
  /** Common uses, most common first: the words after `omnibus`, and their effect. */
  readonly examples: readonly (readonly [words: string, does: string])[];
}

export const groups: readonly Group[] = [
  {
    title: 'Run a gateway',
    commands: {
      serve: {
        examples: [
          ['serve', 'the servers of omnibus.yaml in this folder, at http://127.0.0.1:7300/mcp'],
          ['serve --config team.yaml --listen 0.0.0.0:7300', 'another configuration, reachable from other machines'],
          ['serve --workers auto', 'a process for each core of this machine'],
          ['serve --role edge --bus nats://nats:4222', 'one role of a gateway that runs as several processes'],
        ],
      },
      stdio: {
        summary: 'serve one client on stdin and stdout',
        examples: [
          ['stdio --config ~/omnibus.yaml', 'as the command of a desktop client'],
          ['stdio --connect https://mcp.example.com/mcp', 'the same client at a gateway that runs elsewhere'],
        ],
      },
      check: {
        summary: 'check a configuration',
        examples: [
          ['check', 'omnibus.yaml in this folder'],
          ['check ~/.cursor/mcp.json', 'the file of a client, before it is imported'],
        ],
      },
      doctor: {
        summary: 'check everything that a gateway needs, and say what to do',
        examples: [['doctor', 'files, ports, programs, servers, and the gateway that runs']],
      },
      migrate: {
        summary: 'rename outdated options in a configuration',
        examples: [['migrate omnibus.yaml --write', 'change the file']],
      },
    },
  },
  {
    title: 'Servers and clients',
    commands: {
      add: {
        summary: 'add a server to the configuration',
        examples: [
          ['add files -- npx -y @modelcontextprotocol/server-filesystem .', 'a program that the gateway starts'],
          [
            'add github https://api.githubcopilot.com/mcp/ --header "Authorization: Bearer ${GITHUB_TOKEN}"',
            'a server at an address',
          ],
          ['add pets --openapi ./pets.yaml', 'an HTTP API with an OpenAPI document'],
          ['add weather --from io.github.example/weather', 'a server of a registry'],
        ],
      },
      remove: { examples: [['remove files', 'take the server out of the configuration']] },
      import: {
        summary: 'copy the servers of MCP clients into the configuration',
        examples: [
          ['import', 'those of all clients that are found'],
          ['import cursor vscode', 'those of two clients'],
          ['import litellm.yaml --print', 'those of a file of another gateway, only shown'],
        ],
      },
      search: {
        summary: 'search a registry for MCP servers',
        examples: [
          ['search filesystem', 'servers with this in their names'],
          ['search --registry https://mcp.example.com', 'all servers of another registry'],
        ],
      },
      'search-model': {
        summary: 'prepare a model that ranks tools by meaning',
        examples: [['search-model add models/minilm', 'check it, and install what runs it']],
      },
      clients: { examples: [['clients', 'the names that import and connect know']] },
      connect: {
        summary: 'write the gateway into the file of an MCP client',
        examples: [
          ['connect cursor', 'http://127.0.0.1:7300/mcp'],
          ['connect claude-code --url https://mcp.example.com/mcp', 'a gateway elsewhere'],
        ],
      },
      disconnect: { examples: [['disconnect cursor', 'take the gateway out of its file']] },
    },
  },
  {
    title: 'Use servers from the shell',
    commands: {
      tools: {
        examples: [
          ['tools', 'all tools of the gateway that runs'],
          ['tools "git*" --schema', 'some, with the arguments that they take'],
        ],
      },
      call: {
        examples: [
          ['call echo message=hello', 'text as an argument'],
          ['call search query=mcp limit:=5', 'a number as an argument'],
        ],
      },
      prompts: { examples: [['prompts', 'all prompts']] },
      get: { examples: [['get review language=python', 'the messages of a prompt']] },
      resources: { examples: [['resources', 'all resources and templates']] },
      read: { examples: [['read file:///etc/hosts', 'the content of a resource']] },
      complete: { examples: [['complete review language=py', 'values of an argument that begin with py']] },
    },
  },
  {
    title: 'Watch',
    commands: {
      status: { examples: [['status', 'processes and servers, with what is wrong']] },
      sessions: { examples: [['sessions --client claude', 'sessions of one kind of client']] },
      calls: {
        examples: [
          ['calls --follow', 'each call when it ends'],
          ['calls show 4bf92f35', 'one call through all processes'],
        ],
      },
      logs: { examples: [['logs files --follow', 'what a server writes to stderr']] },
      top: { examples: [['top', 'servers and tools by how much they are called']] },
      tokens: {
        summary: 'show what tools cost a model',
        examples: [
          ['tokens', 'the tokens of each server, and what each measure saves'],
          ['tokens --server github', 'the tools of one server'],
        ],
      },
      usage: { examples: [['usage --days 7 --by tool', 'a week, tool by tool']] },
    },
  },
  {
    title: 'Change a running gateway',
    commands: {
      reload: { examples: [['reload', 'read the configuration again']] },
      restart: { examples: [['restart files', 'after its running calls have ended']] },
      pause: {
        summary: 'stop sending new requests to a server',
        examples: [['pause files --for 30m --because "the disk is replaced"', 'callers get the reason']],
      },
      resume: { examples: [['resume files', 'send it calls again']] },
      block: {
        summary: 'block a caller, key, client, tool or server in every process',
        examples: [['block tool github/delete_repo --because "incident 17"', 'running calls are cancelled']],
      },
      unblock: { examples: [['unblock tool github/delete_repo', 'permit it again']] },
      blocks: { examples: [['blocks', 'everything that is blocked']] },
    },
  },
  {
    title: 'Sign in',
    commands: {
      login: {
        examples: [
          ['login https://mcp.example.com/mcp', 'in your browser'],
          ['login https://mcp.example.com/mcp --device', 'by a code, on a machine without a browser'],
        ],
      },
      logout: { examples: [['logout https://mcp.example.com/mcp', 'and revoke the tokens']] },
      whoami: { examples: [['whoami https://mcp.example.com/mcp', 'your name, groups and scopes there']] },
      token: {
        summary: 'print a valid access token for a gateway',
        examples: [['token https://mcp.example.com/mcp', 'for a program that takes a token']],
      },
      'sign-in': {
        summary: 'sign in for a server behind a gateway',
        examples: [['sign-in github', 'the gateway calls the server in your name']],
      },
      connections: { examples: [['connections list', 'the servers that you have signed in for']] },
    },
  },
  {
    title: 'Callers and rules',
    commands: {
      keys: { examples: [['keys create --subject ci --expires 90d', 'a key for a program']] },
      agents: {
        examples: [['agents add deployer --owner ann --group ci --expires 90d', 'a program with tokens of its own']],
      },
      'signing-keys': {
        summary: "list and rotate the keys of the gateway's own tokens",
        examples: [['signing-keys rotate', 'the next key signs in an hour, and no token ends']],
      },
      users: {
        examples: [
          ['users add ann --group eng', "a user of the gateway's own sign-in"],
          ['users show ann', 'the programs that the user has allowed, and their last use'],
        ],
      },
      policy: {
        examples: [
          ['policy explain group:eng github/create_issue', 'what each rule decides'],
          ['policy test cases.yaml', 'compare decisions with the expected ones'],
          ['policy replay --flow guarded --since 7d', 'the calls of a week that it would have stopped'],
        ],
      },
      approvals: {
        examples: [
          ['approvals list', 'calls that wait for an approver'],
          ['approvals approve ID --for 30m', 'this call, and further ones of its tool by its caller'],
        ],
      },
      grants: {
        summary: 'rights for a time: ask for one, approve and end them',
        examples: [
          ['grants list', 'what waits and what is in force, and the grants that you may ask for'],
          ['grants request oncall --for 4h --reason "incident 4711"', 'an approver decides'],
        ],
      },
      labels: {
        summary: 'labels of conversations: show where they are from, and clear them',
        examples: [
          ['labels list --user ann', 'the results that have added labels to the conversations of a user'],
          ['labels clear untrusted --conversation s8x2 --reason "the page is ours"', 'the reason is on record'],
        ],
      },
      definitions: {
        summary: 'compare tools of servers with the approved ones',
        examples: [['definitions diff github', 'the differences, risky ones marked']],
      },
      audit: {
        examples: [
          ['audit search --who ann --since 2h', 'records of one caller'],
          ['audit verify', 'whether records were changed or are missing'],
        ],
      },
      vault: {
        summary: 'keys and copies of the vault for tokens of users',
        examples: [['vault status', 'its keys, and how many entries each encrypts']],
      },
      recover: {
        summary: 'print a token for the admin port when nobody can sign in to it',
        examples: [['recover', 'where the sealing key is']],
      },
    },
  },
  {
    title: 'Install',
    commands: {
      nats: { examples: [['nats setup --bus nats://setup:secret@nats:4222', 'create streams and buckets']] },
      'nats-permissions': {
        summary: 'print NATS users with only the permissions that each role needs',
        examples: [['nats-permissions', 'for the configuration of NATS']],
      },
      expose: {
        summary: 'serve a stdio server over WebSockets',
        examples: [['expose --listen 0.0.0.0:7300 -- npx -y @modelcontextprotocol/server-memory', 'in a pod']],
      },
      copy: {
        summary: 'copy this program and Node into a folder',
        examples: [['copy /shared', 'for an image that has no Node']],
      },
      completion: { examples: [['completion bash', 'load it with: source <(omnibus completion bash)']] },
      docs: { examples: [['docs timeouts', 'a page of the documents']] },
    },
  },
];

/** Puts the commands into their groups, in the order of the groups. @throws {Error} for a command without a group. */
export function arrange(program: Command): void {
  const order = groups.flatMap(({ commands }) => Object.keys(commands));
  for (const { title, commands } of groups) {
    for (const [name, { summary, examples }] of Object.entries(commands)) {
      const command = program.commands.find((each) => each.name() === name);
      if (command === undefined) throw new Error(`there is no command ${name}`);
      command.helpGroup(`${title}:`).addHelpText('after', () => examplesText(examples));
      if (summary !== undefined) command.summary(summary);
    }
  }
  const stray = program.commands.find((each) => !order.includes(each.name()));
  if (stray !== undefined) throw new Error(`the command ${stray.name()} is in no group`);
  (program.commands as Command[]).sort((one, other) => order.indexOf(one.name()) - order.indexOf(other.name()));
  program
    .commandsGroup('Help:')
    .helpCommand('help [command]', 'display help for command')
    .addHelpText('after', '\nStart with: omnibus import, then omnibus serve. Documents: omnibus docs');
}

function examplesText(examples: Shown['examples']): string {
  const width = Math.max(...examples.map(([words]) => words.length));
  const lines = examples.map(([words, does]) =>
    width > 60 ? `  omnibus ${words}\n      ${does}` : `  omnibus ${words.padEnd(width)}  ${does}`,
  );
  return `\nExamples:\n${lines.join('\n')}`;
}
