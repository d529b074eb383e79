/** Which records are looked for. */

export interface RecordFilter {
  /** A user, principal, client, key or address; `abc*` stands for all that begin with abc. So do the other names. */
  readonly who?: string | undefined;
  readonly tool?: string | undefined;
  readonly server?: string | undefined;
  readonly event?: string | undefined;
  readonly outcome?: string | undefined;
  /** The digest of a session, `mcp.session.id`. */
  readonly session?: string | undefined;
  /** ISO 8601: no records before `since`, none from `until` on. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** A record as it was parsed. */
export type AnyRecord = Readonly<Record<string, unknown>>;

const membersOf = {
  who: ['user.id', 'omnibus.principal', 'omnibus.client', 'omnibus.key', 'client.address', 'omnibus.by'],
  tool: ['omnibus.tool', 'gen_ai.tool.name', 'gen_ai.prompt.name'],
  server: ['omnibus.server'],
  event: ['event.name'],
  outcome: ['omnibus.outcome'],
  session: ['mcp.session.id'],
} as const satisfies Partial<Record<keyof RecordFilter, readonly string[]>>;

/** @returns whether a record is looked for. */
export function recordFilter({ since, until, ...wanted }: RecordFilter): (record: AnyRecord) => boolean {
  const tests = (Object.keys(membersOf) as (keyof typeof membersOf)[]).flatMap((name) => {
    const { [name]: text } = wanted;
    return text === undefined
      ? []
      : [{ text, beginning: text.endsWith('*') ? text.slice(0, -1) : undefined, members: membersOf[name] }];
  });
  return (record) => {
    const time = String(record['time']);
    if ((since !== undefined && time < since) || (until !== undefined && time >= until)) return false;
    return tests.every(({ text, beginning, members }) =>
      members.some((member) => {
        const { [member]: value } = record;
        return (
          value === text ||
          (beginning !== undefined &&
            (typeof value === 'string' || typeof value === 'number') &&
            String(value).startsWith(beginning))
        );
      }),
    );
  };
}
