/** Finds out whether a package or image that a command downloads is fixed by an exact version, a commit or a digest. */
import { nameOf, operandOf, withoutWrapper } from './command-words.ts';

const npmOptions = new Set([
  '-p',
  '--package',
  '-c',
  '--call',
  '--registry',
  '--cache',
  '--prefix',
  '-w',
  '--workspace',
  '--userconfig',
  '--loglevel',
]);
const uvOptions = new Set([
  '--from',
  '--with',
  '--with-editable',
  '--with-requirements',
  '-p',
  '--python',
  '--index',
  '--index-url',
  '-i',
  '--default-index',
  '--extra-index-url',
  '-f',
  '--find-links',
  '--cache-dir',
  '--directory',
  '--project',
  '--config-file',
  '--refresh-package',
  '-P',
  '--upgrade-package',
  '-c',
  '--constraints',
  '--env-file',
  '--spec',
  '--pip-args',
]);
const containerOptions = new Set([
  '-e',
  '--env',
  '--env-file',
  '-v',
  '--volume',
  '--mount',
  '--name',
  '--network',
  '--net',
  '-p',
  '--publish',
  '-w',
  '--workdir',
  '-u',
  '--user',
  '--entrypoint',
  '-m',
  '--memory',
  '--memory-swap',
  '--cpus',
  '--platform',
  '--pull',
  '-l',
  '--label',
  '-h',
  '--hostname',
  '--add-host',
  '--cap-add',
  '--cap-drop',
  '--security-opt',
  '--tmpfs',
  '--ulimit',
  '--gpus',
  '--runtime',
  '--log-driver',
  '--log-opt',
  '-a',
  '--attach',
  '--dns',
  '--restart',
  '--shm-size',
  '--pids-limit',
  '--userns',
  '--device',
  '--ipc',
  '--pid',
  '--cidfile',
  '--group-add',
  '--volumes-from',
]);
const exactNpm = /^(?:@[^/@]+\/)?[^@/]+@v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;
const exactPython = /(?:===?|@)\s*\d[\w.!+-]*$/;
const commit = /[#@][0-9a-f]{40}$/i;

/** @returns the unpinned part and its fix, in words; undefined if all is pinned, or nothing is downloaded. */
// oxlint-disable-next-line complexity -- a table: one case for each program
export function unpinnedOf(command: string, args: readonly string[]): string | undefined {
  const name = nameOf(command);
  const inner = name === 'cmd' && /^\/[ck]$/i.test(args[0] ?? '') ? args.slice(1) : withoutWrapper(name, args);
  if (inner !== undefined) return inner.length === 0 ? undefined : unpinnedOf(inner[0] as string, inner.slice(1));
  switch (name) {
    case 'npx':
    case 'bunx':
    case 'pnpx':
      return npm(args);
    case 'npm':
      return /^(exec|x)$/.test(args[0] ?? '') ? npm(args.slice(1)) : undefined;
    case 'pnpm':
    case 'yarn':
      return args[0] === 'dlx' ? npm(args.slice(1)) : undefined;
    case 'bun':
      return args[0] === 'x' ? npm(args.slice(1)) : undefined;
    case 'uvx':
      return python(args);
    case 'uv':
      return args[0] === 'tool' && args[1] === 'run' ? python(args.slice(2)) : undefined;
    case 'pipx':
      return args[0] === 'run' ? python(args.slice(1)) : undefined;
    case 'docker':
    case 'podman':
    case 'nerdctl':
      return container(args);
    default:
      return undefined;
  }
}

function npm(args: readonly string[]): string | undefined {
  const { operand, options } = operandOf(args, npmOptions);
  const named = [...(options.get('-p') ?? []), ...(options.get('--package') ?? [])];
  const loose = (named.length > 0 ? named : [operand ?? '']).filter(
    (each) => each !== '' && !isPath(each) && !exactNpm.test(each) && !commit.test(each),
  );
  return loose.length === 0
    ? undefined
    : `${loose.join(', ')}: whatever version is the newest when it is started; name one, as in ${bare(loose[0] as string)}@1.2.3`;
}

function python(args: readonly string[]): string | undefined {
  const { operand, options } = operandOf(args, uvOptions);
  const named = [...(options.get('--from') ?? []), ...(options.get('--spec') ?? [])];
  const loose = [
    ...(named.length > 0 ? named : [operand ?? '']),
    ...(options.get('--with') ?? []).flatMap((each) => each.split(',')),
  ].filter((each) => each !== '' && !isPath(each) && !exactPython.test(each) && !commit.test(each));
  return loose.length === 0
    ? undefined
    : `${loose.join(', ')}: whatever version is the newest when it is started; name one, as in ${(loose[0] as string).split(/[<>=~!@[]/, 1)[0] as string}==1.2.3`;
}

function container(args: readonly string[]): string | undefined {
  const at = args.indexOf('run');
  if (at === -1) return undefined;
  const { operand: image } = operandOf(args.slice(at + 1), containerOptions);
  return image === undefined || /@sha256:[0-9a-f]{64}$/.test(image)
    ? undefined
    : `${image}: an image whose tag can be moved; name its digest, as in ${image.replace(/(?<=[^/]):[^/:@]+$/, '')}@sha256:...`;
}

function isPath(word: string): boolean {
  return /^(\.{0,2}[/\\]|~\/|[A-Za-z]:[/\\]|file:|\.$)/.test(word);
}

function bare(spec: string): string {
  const at = spec.indexOf('@', 1);
  return at === -1 ? spec : spec.slice(0, at);
}
