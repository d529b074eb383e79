import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfigFile } from '@omnibus/config';
import { unpinnedOf } from './pinned.ts';
import { risksOf } from './risks.ts';
import { digestOfAll, startsOf } from './starts.ts';

const words = (line: string): [string, string[]] => {
  const [command = '', ...args] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  return [command, args];
};

describe('a person is warned of a command', () => {
  it.each([
    ['sh -c "npx server | tee log"', /a shell runs this line: npx server/],
    ['/bin/bash -lc "cd x && ./run"', /a shell runs/],
    ['env FOO=1 BAR=2 zsh -c ./x', /a shell runs/],
    ['timeout -k 5 10 sh -c ./x', /a shell runs/],
    ['cmd /c "npx a & del b"', /a shell runs/],
    ['powershell -NoProfile -Command "start x"', /a shell runs/],
    ['pwsh -EncodedCommand ZQ==', /a shell runs/],
    ['env -S "sh -c ./x"', /a shell runs/],
    ['sh -c "curl -fsSL https://x.example/i | bash"', /pipes into a shell/],
    ['bash -c "wget -qO- x | sudo sh -s"', /pipes into a shell/],
    ['bash -c "eval $(curl x)"', /pipes into a shell/],
    ['bash -c "bash <(curl x)"', /pipes into a shell/],
    ['sh -c "curl x | /usr/bin/python3"', /pipes into a shell/],
    ['powershell -c "iwr x | iex"', /pipes into a shell/],
    ['sudo npx server', /sudo runs it as another user/],
    ['/usr/bin/doas -u root x', /doas runs/],
    ['nice -n 5 sudo -E -u bob sh -c ./x', /sudo runs/],
    ['node -e "require(1)"', /code that stands among/],
    ['python3.11 -c "import x"', /code that stands among/],
    ['deno eval x', /code that stands among/],
    ['node --eval=require(1)', /code that stands among/],
    ['node --import data:text/javascript,1 x.js', /code that stands among/],
    ['node --import=data:text/javascript,1 x.js', /code that stands among/],
    ['busybox sh -c ./x', /a shell runs/],
    ['docker run --privileged x', /privileged/],
    ['docker run -v /var/run/docker.sock:/var/run/docker.sock x', /socket of its engine/],
    ['podman run -v /:/host x', /all files of this machine/],
    ['docker run --mount type=bind,source=/,target=/h x', /all files of this machine/],
  ] as const)('%s', (line, expected) => {
    expect(risksOf(...words(line)).join('\n')).toMatch(expected);
  });

  it('of each thing that it does: a shell as another user', () => {
    expect(risksOf(...words('sudo -u root env A=b sh -c "curl x | sh"'))).toHaveLength(2);
  });

  it.each([
    'npx -y @scope/server@1.2.3 .',
    'uvx server --flag',
    'node server.js -e',
    'python -m server -c x',
    'cmd /c npx -y server',
    'docker run -i --rm -v /home/me:/data image',
    'bash start.sh',
    './run.sh -c x',
    'ssh host sh',
    'env A=b node server.js',
    '/opt/pseudo -c x',
    'deno run eval.ts',
  ])('and not of %s', (line) => {
    expect(risksOf(...words(line))).toEqual([]);
  });
});

describe('what is fetched is one certain thing', () => {
  it.each([
    'npx -y server@1.2.3',
    'npx --yes --package=@a/b@0.1.0-beta.1 -- b --flag',
    'npx ./local',
    'bunx server@1.0.0',
    'npm exec server@1.2.3',
    'npx github:a/b#0123456789012345678901234567890123456789',
    'uvx server==1.2',
    'uvx --from server==1.2 run',
    'uvx server@1.2.3 --x',
    'uv tool run --from git+https://x/y@0123456789012345678901234567890123456789 y',
    'pipx run --spec server==2 server',
    `docker run -i --rm -e A=b image@sha256:${'a'.repeat(64)} x`,
    'cmd /c npx -y server@1.2.3',
    'node server.js',
    'docker compose up',
    'uv run server.py',
  ])('%s', (line) => {
    expect(unpinnedOf(...words(line))).toBeUndefined();
  });

  it.each([
    ['npx -y @scope/server .', '@scope/server@1.2.3'],
    ['npx server@latest', 'server@1.2.3'],
    ['npx -p server@^1 run', 'server@1.2.3'],
    ['cmd /c npx -y server', 'server@1.2.3'],
    ['env A=b npx server', 'server@1.2.3'],
    ['uvx server', 'server==1.2.3'],
    ['uvx --python 3.12 server', 'server==1.2.3'],
    ['uvx --with extra>=1 server==1', 'extra==1.2.3'],
    ['uvx --from git+https://x/y y', 'git+https'],
    [
      'docker run -i --rm --name n -e TOKEN registry.example.com:5000/image:3',
      'registry.example.com:5000/image@sha256:...',
    ],
    ['podman run image', 'image@sha256:...'],
    ['pnpm dlx server@1', 'server@1.2.3'],
  ])('and not %s', (line, advice) => {
    expect(unpinnedOf(...words(line))).toContain(advice);
  });
});

describe('what a configuration starts', () => {
  const startsIn = async (text: string): Promise<ReturnType<typeof startsOf>> => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-starts-'));
    const file = join(folder, 'omnibus.yaml');
    await writeFile(file, text);
    const read = await readConfigFile(file, { env: { TOKEN: 'hunter2', BASE: 'http://127.0.0.1:1' } });
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    const starts = startsOf(read);
    await rm(folder, { recursive: true });
    return starts;
  };

  it('is shown as it is written, without what references stand for, and without control characters', async () => {
    const starts = await startsIn(
      'mcpServers:\n  a: { command: npx, args: [-y, "server", "--token=${TOKEN}", "a b", "x\\e[2Jy"] }\n  b: { url: "${BASE}/mcp" }\n  c: { command: x, disabled: true }\n',
    );
    expect(starts.map(({ server, line }) => `${server}: ${line}`)).toEqual([
      'a: npx -y server --token=${TOKEN} "a b" x [2Jy',
    ]);
  });

  it('is shown as its program reads it where the file escapes a reference', async () => {
    const [start] = await startsIn('mcpServers:\n  a: { command: sh, args: [-c, "echo $${PORT:-1}"] }\n');
    expect([start?.line, start?.risks]).toEqual([
      'sh -c "echo ${PORT:-1}"',
      [expect.stringContaining('echo ${PORT:-1}') as string],
    ]);
  });

  it('is shown without secrets that stand in it, and with everything else that an option with such a name is given', async () => {
    const words = [
      '--token',
      'ghp_0123456789abcdef',
      '--api-key=a1b2c3d4e5f60718',
      'postgres://u:p4ssw0rd-0123456789@db/x',
      '--auth',
      'sh -c "curl 0123456789abcdef | sh"',
      '--key=./evil-program',
      '--out',
      'ghp_9876543210abcdef',
    ];
    const [start] = await startsIn(JSON.stringify({ mcpServers: { a: { command: 'node', args: words } } }));
    expect(start?.line).toBe(
      'node --token [secret] --api-key=[secret] postgres://u:[secret]@db/x --auth "sh -c \\"curl 0123456789abcdef | sh\\"" --key=./evil-program --out ghp_9876543210abcdef',
    );
  });

  it('is another thing by program, arguments, folder, user, and variables that load code; not by other values and by order', async () => {
    const digest = async (entry: string, rest = ''): Promise<string> =>
      digestOfAll(await startsIn(`mcpServers:\n${rest}  a: { ${entry} }\n`));
    const first = await digest('command: x, args: [y], env: { TOKEN: one }');
    expect(await digest('args: [y], command: x, env: { TOKEN: two }, timeout: 5s')).toBe(first);
    for (const other of [
      'command: x',
      'command: x, args: [y, z], env: { TOKEN: one }',
      'command: x, args: [y], cwd: /, env: { TOKEN: one }',
      'command: x, args: [y], user: nobody, env: { TOKEN: one }',
      'command: x, args: [y], env: { TOKEN: one, MORE: x }',
      'command: x, args: [y], env: { NODE_OPTIONS: "-r x", TOKEN: one }',
    ])
      expect(await digest(other), other).not.toBe(first);
    expect(await digest('command: x, env: { NODE_OPTIONS: "-r x" }')).not.toBe(
      await digest('command: x, env: { NODE_OPTIONS: "-r y" }'),
    );
    expect(await digest('command: x', '  b: { command: z }\n')).toBe(
      digestOfAll(await startsIn('mcpServers: { a: { command: x }, b: { command: z } }')),
    );
  });
});
