/** The names of the functions that a script calls: `servers.SERVER.TOOL`, valid identifiers that are unique in their server. */
import type { OfferedTool, View } from '@omnibus/catalog';
import { ownServer } from '@omnibus/protocol';

export interface ScriptFunction {
  readonly server: string;
  readonly tool: string;
  readonly offered: OfferedTool;
}

const made = new WeakMap<View, ScriptFunctions>();

export class ScriptFunctions {
  readonly all: readonly ScriptFunction[];
  readonly #byName = new Map<string, Map<string, OfferedTool>>();
  #json: string | undefined;

  private constructor(view: View) {
    const serverNames = uniqueNames([...view.definition.servers, ownServer]);
    const groups = Map.groupBy([...view.everyTool(), ...view.compositeTools()], ({ server }) => server);
    this.all = [...groups].flatMap(([server, tools]) => {
      const own = (tool: OfferedTool): string =>
        view.definition.rename.get(`${server}/${tool.original}`) ?? tool.original;
      const names = uniqueNames(tools.map(own));
      const name = serverNames.get(server) ?? server;
      return tools.map((offered) => ({ server: name, tool: names.get(own(offered)) ?? own(offered), offered }));
    });
    for (const { server, tool, offered } of this.all) {
      const ofServer = this.#byName.get(server) ?? new Map<string, OfferedTool>();
      this.#byName.set(server, ofServer.set(tool, offered));
    }
  }

  /** Of everything that the callers of a view see; made once for each view. */
  static of(view: View): ScriptFunctions {
    const functions = made.get(view) ?? new ScriptFunctions(view);
    made.set(view, functions);
    return functions;
  }

  /** By server, the names of its functions, as JSON for the sandbox. */
  get json(): string {
    this.#json ??= JSON.stringify(
      Object.fromEntries(
        [...this.#byName].map(([server, tools]) => [
          server,
          Object.fromEntries([...tools.keys()].map((name) => [name, 1])),
        ]),
      ),
    );
    return this.#json;
  }

  get(server: string, tool: string): OfferedTool | undefined {
    return this.#byName.get(server)?.get(tool);
  }
}

/** Names that are valid identifiers, by the names that they stand for. An equal one gets a number; the order of the given names does not matter. */
function uniqueNames(given: readonly string[]): ReadonlyMap<string, string> {
  const used = new Set<string>();
  const names = new Map<string, string>();
  // A name that is valid as it is keeps itself.
  const sorted = [...new Set(given)].toSorted(
    (one, other) => Number(identifierOf(one) !== one) - Number(identifierOf(other) !== other) || (one < other ? -1 : 1),
  );
  for (const name of sorted) {
    const base = identifierOf(name);
    let unique = base;
    for (let number = 2; used.has(unique); number += 1) unique = `${base}_${number}`;
    used.add(unique);
    names.set(name, unique);
  }
  return names;
}

function identifierOf(name: string): string {
  const plain = name.replaceAll(/[^\w$]/g, '_');
  return /^\d|^$|^__proto__$/.test(plain) ? `_${plain}` : plain;
}
