/** `manifest.json` of a bundle (MCPB 0.1 to 0.4; `dxt_version` in earlier ones), as far as the start of its server depends on it. */
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import { refused } from './archive.ts';

const types = ['node', 'python', 'binary', 'uv'] as const;

export interface Setting {
  readonly key: string;
  readonly type: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isSensitive: boolean;
  readonly isMultiple: boolean;
  /** As the publisher wrote them, with variables. */
  readonly presets: readonly string[];
  readonly min: number | undefined;
  readonly max: number | undefined;
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly type: (typeof types)[number];
  readonly entryPoint: string;
  /** Undefined where the host chooses it, as for `uv`. */
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly settings: ReadonlyMap<string, Setting>;
  /** Systems as `process.platform` names them; undefined for all. */
  readonly platforms: readonly string[] | undefined;
  /** Versions of runtimes that it needs, such as `node >=18`. */
  readonly runtimes: readonly string[];
}

const maxSettings = 100;

/** @param platform whose overrides count. @throws {CommandProblem} */
export function readManifest(text: string, platform: string): Manifest {
  const given = objectIn(text);
  const version = given['manifest_version'] ?? given['dxt_version'];
  if (typeof version !== 'string' || !/^0\.\d+$/.test(version.split('.').slice(0, 2).join('.')))
    throw refused(
      `its manifest has the version ${printable(JSON.stringify(version) ?? 'none', 50)}; 0.1 to 0.4 are known`,
    );
  const server = member(given, 'server');
  const type = types.find((each) => each === server['type']);
  if (type === undefined)
    throw refused(
      `its server has the type ${printable(JSON.stringify(server['type']) ?? 'none', 50)}, and not ${types.join(', ')}`,
    );
  const config = isObject(server['mcp_config']) ? server['mcp_config'] : {};
  const overrides = isObject(config['platform_overrides']) ? config['platform_overrides'][platform] : undefined;
  const own = isObject(overrides) ? overrides : {};
  const compatibility = isObject(given['compatibility']) ? given['compatibility'] : {};
  return {
    name: textIn(given, 'name'),
    version: textIn(given, 'version'),
    type,
    entryPoint: textIn(server, 'entry_point').replace(/^\.\//, ''),
    command: optionalText(own['command'] ?? config['command']),
    args: textsIn(own['args'] ?? config['args'], 'args'),
    env: { ...envIn(config['env']), ...envIn(own['env']) },
    settings: settingsIn(given['user_config']),
    platforms: compatibility['platforms'] === undefined ? undefined : textsIn(compatibility['platforms'], 'platforms'),
    runtimes: isObject(compatibility['runtimes'])
      ? Object.entries(compatibility['runtimes']).map(([name, range]) => printable(`${name} ${String(range)}`, 60))
      : [],
  };
}

function objectIn(text: string): JsonObject {
  let given: unknown;
  try {
    given = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw refused('its manifest.json is no JSON');
  }
  if (!isObject(given)) throw refused('its manifest.json is no object');
  return given;
}

function member(given: JsonObject, name: string): JsonObject {
  const value = given[name];
  if (!isObject(value)) throw refused(`its manifest has no ${name}`);
  return value;
}

function textIn(given: JsonObject, name: string): string {
  const value = given[name];
  if (typeof value !== 'string' || value === '') throw refused(`its manifest has no ${name}`);
  return value;
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function textsIn(value: unknown, name: string): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
    throw refused(`${name} of its manifest is no list of texts`);
  return value as readonly string[];
}

function envIn(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  const entries = Object.entries(value);
  const wrong = entries.find(([name, text]) => typeof text !== 'string' || !/^[A-Za-z_][\w]*$/.test(name));
  if (wrong !== undefined) throw refused(`${printable(wrong[0], 100)} is no environment variable with a text`);
  return Object.fromEntries(entries) as Readonly<Record<string, string>>;
}

function settingsIn(value: unknown): ReadonlyMap<string, Setting> {
  if (!isObject(value)) return new Map();
  const entries = Object.entries(value);
  if (entries.length > maxSettings) throw refused(`its manifest has more than ${maxSettings} settings`);
  return new Map(
    entries.flatMap(([key, given]) => {
      if (!isObject(given)) return [];
      if (!/^[\w.-]{1,64}$/.test(key)) throw refused(`${printable(JSON.stringify(key), 100)} is no name of a setting`);
      const { type, title, description, required, sensitive, multiple, default: preset, min, max } = given;
      const words = [title, description].filter((each) => typeof each === 'string').join(': ');
      const presets = preset === undefined || preset === null ? [] : [preset].flat();
      return [
        [
          key,
          {
            key,
            type: typeof type === 'string' ? type : 'string',
            description: words,
            isRequired: required === true,
            isSensitive: sensitive === true,
            isMultiple: multiple === true,
            presets: presets.filter((each) => typeof each !== 'object').map(String),
            min: typeof min === 'number' ? min : undefined,
            max: typeof max === 'number' ? max : undefined,
          },
        ] as const,
      ];
    }),
  );
}
