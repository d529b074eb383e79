/**
 * The entry of a configuration for the server of a bundle. Everything in a bundle comes from a stranger: it starts one of the known runtimes or a file of its
 * own, its texts are texts, and it is unpacked only after the user has agreed.
 */
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { CommandProblem } from '@omnibus/client';
import { printable } from '@omnibus/protocol';
import type { Answers } from '../registry/answers.ts';
import { checkJoined, literal } from '../registry/literal.ts';
import { Archive, refused } from './archive.ts';
import { readManifest, type Manifest, type Setting } from './manifest.ts';

export interface BundleEntry {
  readonly entry: Record<string, unknown>;
  /** Names of environment variables with a secret. */
  readonly secrets: ReadonlySet<string>;
  /** Unpacks the bundle to the folder that the entry names. */
  readonly prepare: () => Promise<void>;
  /** Versions of runtimes that it needs, for a person. */
  readonly runtimes: readonly string[];
}

const maxManifestBytes = 1024 * 1024;
/** Programs that a bundle may start beside its own files. `npx` and `uvx` would fetch other code tomorrow. */
const runtimes: ReadonlySet<string> = new Set(['node', 'python', 'python3', 'uv']);
const variable = /\$\{([^}]*)\}/g;
const settingMark = 'user_config.';

/**
 * @param bytes of the bundle.
 * @param folder in which bundles are unpacked.
 * @param name of the server in the configuration.
 * @throws {CommandProblem}
 */
export async function bundleEntry(
  bytes: Buffer,
  {
    folder,
    name,
    platform = process.platform,
  }: { readonly folder: string; readonly name: string; readonly platform?: string },
  answers: Answers,
): Promise<BundleEntry> {
  const archive = await Archive.open(bytes);
  const text = await archive.text('manifest.json', maxManifestBytes);
  if (text === undefined) throw refused('it has no manifest.json');
  const manifest = readManifest(text, platform);
  if (manifest.platforms !== undefined && !manifest.platforms.includes(platform))
    throw new CommandProblem(
      'other',
      `${printable(manifest.name, 100)} runs on ${printable(manifest.platforms.join(', '), 100)}, and this is ${platform}`,
    );
  const place = join(folder, `${name}-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}`);
  const values = await valuesOf(manifest, answers);
  const filler = new Filler(place, values);
  const { command, args, program } = startOf(manifest, archive, place, platform, filler);
  const env = Object.entries(manifest.env).flatMap(([key, given]) => {
    const filled = filler.text(given);
    return filled === undefined ? [] : [[key, filled] as const];
  });
  return {
    entry: { command, args, cwd: literal(place), ...(env.length === 0 ? {} : { env: Object.fromEntries(env) }) },
    secrets: new Set(
      Object.entries(manifest.env)
        .filter(([, given]) => settingsOf(manifest, given).some(({ isSensitive }) => isSensitive))
        .map(([key]) => key),
    ),
    prepare: () => archive.unpack(place, new Set(program === undefined ? [] : [program])),
    runtimes: manifest.runtimes,
  };
}

interface Start {
  readonly command: string;
  readonly args: readonly string[];
  /** The file of the bundle that is started; undefined for a runtime. */
  readonly program: string | undefined;
}

function startOf(manifest: Manifest, archive: Archive, place: string, platform: string, filler: Filler): Start {
  const { type, entryPoint } = manifest;
  const inBundle = (path: string): string | undefined =>
    [path, ...(platform === 'win32' ? [`${path}.exe`] : [])].find((each) => archive.has(each));
  if (inBundle(entryPoint) === undefined)
    throw refused(`its entry point ${printable(JSON.stringify(entryPoint), 200)} is not in it`);
  const own = manifest.args.flatMap((each) => filler.texts(each));
  if (type === 'uv') {
    if (!archive.has('pyproject.toml'))
      throw refused('a server of the type uv needs a pyproject.toml, and it has none');
    return {
      command: 'uv',
      args: ['run', '--directory', literal(place), literal(entryPoint), ...(manifest.command === undefined ? own : [])],
      program: undefined,
    };
  }
  const usual = { node: 'node', python: 'python3', binary: entryPoint } as const;
  const command = manifest.command ?? usual[type];
  if (runtimes.has(command))
    return { command, args: manifest.command === undefined ? [literal(entryPoint)] : own, program: undefined };
  const path = command.replace(/^\$\{__dirname\}[/\\]?|^\.\//, '').replaceAll('${/}', '/');
  const program = inBundle(path);
  if (program === undefined)
    throw refused(
      `it wants ${printable(JSON.stringify(command), 200)} to be started: a bundle starts ${[...runtimes].join(', ')} or a file of its own`,
    );
  return { command: literal(join(place, ...program.split('/'))), args: own, program };
}

/** The settings that a text refers to. */
function settingsOf({ settings }: Manifest, text: string): readonly Setting[] {
  return [...text.matchAll(variable)].flatMap(([, name = '']) => {
    const setting = name.startsWith(settingMark) ? settings.get(name.slice(settingMark.length)) : undefined;
    return setting === undefined ? [] : [setting];
  });
}

/** Values of the settings that the start uses, in the form of the configuration. */
async function valuesOf(manifest: Manifest, answers: Answers): Promise<ReadonlyMap<string, readonly string[]>> {
  const inArgs = new Set(manifest.args.flatMap((each) => settingsOf(manifest, each)));
  const inEnv = Object.values(manifest.env).flatMap((each) => settingsOf(manifest, each));
  const values = new Map<string, readonly string[]>();
  for (const setting of new Set([...inArgs, ...inEnv]))
    values.set(setting.key, await valueOf(setting, inArgs.has(setting), optionBefore(manifest, setting), answers));
  return values;
}

/** The option whose value is an argument with this setting. Without it, the option would take the next argument for its value. */
function optionBefore(manifest: Manifest, setting: Setting): string | undefined {
  return manifest.args.find(
    (each, index) =>
      /^-[^=]*$/.test(each) && each !== '--' && settingsOf(manifest, manifest.args[index + 1] ?? '').includes(setting),
  );
}

async function valueOf(
  setting: Setting,
  isInArgs: boolean,
  option: string | undefined,
  answers: Answers,
): Promise<readonly string[]> {
  const { key, description, isSensitive, isMultiple, type } = setting;
  const presets = setting.presets.map((each) =>
    each.replaceAll(variable, (whole, name: string) => placeOf(name) ?? whole),
  );
  const hasSeveral = presets.length > 1;
  // A default of a secret is not taken.
  const hasDefault = presets.length > 0 && !isSensitive;
  const needed = option === undefined || hasDefault ? [] : [`the option ${option} takes it`];
  const words = [description, ...needed].filter((each) => each !== '').join('; ');
  const input = {
    name: key,
    description: words === '' ? undefined : words,
    isRequired: (setting.isRequired && !(hasSeveral && hasDefault)) || needed.length > 0,
    isSecret: isSensitive,
    value: undefined,
    preset: hasSeveral ? undefined : presets[0],
    choices: type === 'boolean' ? ['true', 'false'] : [],
    variables: [],
  };
  const one = isInArgs || isMultiple ? undefined : await answers.value(input);
  const found =
    isInArgs || isMultiple
      ? await answers.values({ ...input, isNamed: false, isRepeated: isMultiple })
      : one === undefined
        ? []
        : [one];
  for (const each of found) checkNumber(setting, each);
  return found.length === 0 && hasSeveral && hasDefault ? presets.map(literal) : found;
}

function checkNumber({ key, type, min = -Infinity, max = Infinity }: Setting, value: string): void {
  if (type !== 'number' || value.includes('${')) return;
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number) || number < min || number > max)
    throw new CommandProblem(
      'usage',
      `${printable(key, 100)}: expected a number${min === -Infinity ? '' : ` from ${min}`}${max === Infinity ? '' : ` up to ${max}`}, not ${JSON.stringify(value)}`,
    );
}

/** Folders of the user, and the separator of paths. */
function placeOf(name: string): string | undefined {
  switch (name) {
    case 'HOME':
      return homedir();
    case 'DESKTOP':
      return join(homedir(), 'Desktop');
    case 'DOCUMENTS':
      return join(homedir(), 'Documents');
    case 'DOWNLOADS':
      return join(homedir(), 'Downloads');
    case 'pathSeparator':
    case '/':
      return sep;
    default:
      return undefined;
  }
}

/** Puts values into texts of the manifest. */
class Filler {
  readonly #place: string;
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(place: string, values: ReadonlyMap<string, readonly string[]>) {
    this.#place = place;
    this.#values = values;
  }

  /** Arguments from one: several for a setting with several values, none for one without. */
  texts(given: string): readonly string[] {
    const [whole, name = ''] = /^\$\{user_config\.([^}]*)\}$/.exec(given) ?? [];
    const values = whole === undefined ? undefined : this.#values.get(name);
    if (values !== undefined) return values;
    const filled = this.text(given);
    return filled === undefined ? [] : [filled];
  }

  /** @returns undefined if a setting in it has no value. @throws {CommandProblem} */
  text(given: string): string | undefined {
    const parts: string[] = [];
    let isMissing = false;
    // Pieces between variables are words of the publisher.
    const pieces = given.split(variable).map((piece, index) => {
      if (index % 2 === 0) return literal(piece);
      if (piece === '__dirname') return literal(this.#place);
      const place = placeOf(piece);
      if (place !== undefined) return literal(place);
      const values = piece.startsWith(settingMark) ? this.#values.get(piece.slice(settingMark.length)) : undefined;
      if (values === undefined) return literal(`\${${piece}}`);
      if (values.length === 0) isMissing = true;
      parts.push(...values);
      return values.join(',');
    });
    const filled = pieces.join('');
    checkJoined(filled, parts);
    return isMissing ? undefined : filled;
  }
}
