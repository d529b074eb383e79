/** What of a tool is searched, as texts by field. Everything has a bound, since servers write it. */

export interface SearchableTool {
  readonly server: string;
  /** The server's own name of the tool. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  /** The server's description: its title and instructions. */
  readonly about?: string | undefined;
}

/** In the order of `textsOf`. */
export const fieldCount = 7;

const maxDescription = 4_000;
const maxAbout = 600;
const maxParameters = 200;
const maxParameterText = 400;
const maxEnumValues = 50;
const maxDepth = 5;

/** The texts of a tool: name and title, description, names of parameters, their descriptions, enum values, server, and the server's description. */
export function textsOf(tool: SearchableTool): readonly string[] {
  const found: Parameters = { names: [], texts: [], values: [] };
  collect(tool.inputSchema, found, 0);
  const { name, title, description = '', server, about = '' } = tool;
  return [
    title === undefined || title === name ? name : `${name} ${title.slice(0, maxParameterText)}`,
    description.slice(0, maxDescription),
    found.names.join(' '),
    found.texts.join(' '),
    found.values.join(' '),
    server,
    about.slice(0, maxAbout),
  ];
}

/** The parameters at the top of a schema with their descriptions, which are empty where there are none. */
export function parametersOf(schema: unknown): readonly (readonly [name: string, description: string])[] {
  return Object.entries(membersOf(isRecord(schema) ? schema['properties'] : undefined)).map(([name, parameter]) => {
    const text = isRecord(parameter) ? parameter['description'] : undefined;
    return [name, typeof text === 'string' ? text : ''];
  });
}

interface Parameters {
  readonly names: string[];
  readonly texts: string[];
  readonly values: string[];
}

function collect(schema: unknown, found: Parameters, depth: number): void {
  if (!isRecord(schema) || depth > maxDepth) return;
  for (const [name, parameter] of Object.entries(membersOf(schema['properties']))) {
    if (found.names.length >= maxParameters) return;
    found.names.push(name.slice(0, maxParameterText));
    if (!isRecord(parameter)) continue;
    const { description, enum: values, items } = parameter;
    if (typeof description === 'string') found.texts.push(description.slice(0, maxParameterText));
    addValues(values, found);
    collect(parameter, found, depth + 1);
    if (!isRecord(items)) continue;
    addValues(items['enum'], found);
    collect(items, found, depth + 1);
  }
}

function addValues(values: unknown, { values: all }: Parameters): void {
  if (!Array.isArray(values)) return;
  for (const value of values.slice(0, maxEnumValues) as unknown[])
    if (typeof value === 'string') all.push(value.slice(0, maxParameterText));
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
