/** Reads `server.json` (the MCP registry's schema of 2025-12-11 and earlier ones, which wrote names with underscores). */
import { isObject, type JsonObject } from '@omnibus/protocol';

/** A value that the user gives, or that is fixed. */
export interface Input {
  /** The name of an environment variable, header, flag or variable; of a positional argument, its hint. */
  readonly name: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  /** Fixed by the publisher, with `{NAME}` for variables. */
  readonly value: string | undefined;
  readonly preset: string | undefined;
  readonly choices: readonly string[];
  readonly variables: readonly Input[];
}

export interface Argument extends Input {
  readonly isNamed: boolean;
  readonly isRepeated: boolean;
}

export interface ServerPackage {
  /** npm, pypi, oci, nuget, mcpb. */
  readonly type: string;
  readonly identifier: string;
  readonly version: string | undefined;
  readonly baseUrl: string | undefined;
  /** Of a bundle, in hexadecimal digits. */
  readonly sha256: string | undefined;
  readonly runtime: string | undefined;
  readonly transport: Remote | undefined;
  readonly runtimeArguments: readonly Argument[];
  readonly packageArguments: readonly Argument[];
  readonly environment: readonly Input[];
}

/** A server at an address. */
export interface Remote {
  readonly type: string;
  readonly url: string;
  readonly headers: readonly Input[];
  readonly variables: readonly Input[];
}

export interface ServerDocument {
  readonly name: string;
  readonly version: string | undefined;
  readonly packages: readonly ServerPackage[];
  readonly remotes: readonly Remote[];
}

/** Bound on entries of each list. */
const maxEntries = 100;

export function readServer(server: JsonObject): ServerDocument {
  const detail = server['version_detail'];
  return {
    name: textOf(server['name']) ?? '',
    version: textOf(server['version']) ?? (isObject(detail) ? textOf(detail['version']) : undefined),
    packages: objectsIn(server['packages']).flatMap(packageOf),
    remotes: objectsIn(server['remotes']).flatMap(remoteOf),
  };
}

function packageOf(given: JsonObject): readonly ServerPackage[] {
  const type = textOf(member(given, 'registryType', 'registry_type', 'registry_name'));
  const identifier = textOf(member(given, 'identifier', 'name'));
  if (type === undefined || identifier === undefined) return [];
  const transport = isObject(given['transport']) ? remoteOf(given['transport'])[0] : undefined;
  return [
    {
      type,
      identifier,
      version: textOf(given['version']),
      baseUrl: textOf(member(given, 'registryBaseUrl', 'registry_base_url')),
      sha256: textOf(member(given, 'fileSha256', 'file_sha256')),
      runtime: textOf(member(given, 'runtimeHint', 'runtime_hint')),
      transport,
      runtimeArguments: objectsIn(member(given, 'runtimeArguments', 'runtime_arguments')).map(argumentOf),
      packageArguments: objectsIn(member(given, 'packageArguments', 'package_arguments')).map(argumentOf),
      environment: objectsIn(member(given, 'environmentVariables', 'environment_variables')).map(inputOf),
    },
  ];
}

function remoteOf(given: JsonObject): readonly Remote[] {
  const type = textOf(member(given, 'type', 'transport_type'));
  const url = textOf(given['url']);
  if (type === undefined || url === undefined) return [];
  return [{ type, url, headers: objectsIn(given['headers']).map(inputOf), variables: variablesOf(given['variables']) }];
}

function argumentOf(given: JsonObject, index: number): Argument {
  const isNamed = given['type'] === 'named';
  const hint = textOf(member(given, 'valueHint', 'value_hint')) ?? `argument-${index + 1}`;
  const input = inputOf(given);
  return {
    ...input,
    name: isNamed ? input.name : hint,
    isNamed,
    isRepeated: member(given, 'isRepeated', 'is_repeated') === true,
  };
}

function inputOf(given: JsonObject): Input {
  const { choices, variables } = given;
  return {
    name: textOf(given['name']) ?? '',
    description: textOf(given['description']),
    isRequired: member(given, 'isRequired', 'is_required') === true,
    isSecret: member(given, 'isSecret', 'is_secret') === true,
    value: textOf(given['value']),
    preset: textOf(given['default']),
    choices: Array.isArray(choices) ? choices.filter((each) => typeof each === 'string') : [],
    variables: variablesOf(variables),
  };
}

function variablesOf(given: unknown): readonly Input[] {
  return isObject(given)
    ? Object.entries(given)
        .slice(0, maxEntries)
        .flatMap(([name, each]) => (isObject(each) ? [inputOf({ ...each, name })] : []))
    : [];
}

function member(given: JsonObject, ...names: readonly string[]): unknown {
  return names.map((name) => given[name]).find((value) => value !== undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject).slice(0, maxEntries) : [];
}
