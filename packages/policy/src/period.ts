/** The period in which a rule holds: from one moment until another. */

export interface Period {
  /** Milliseconds since 1970; -Infinity without a beginning. */
  readonly from: number;
  /** Milliseconds since 1970, excluded; Infinity without an end. */
  readonly until: number;
}

const form = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::00)?(Z|[+-]\d\d:\d\d)?)?$/;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * @param from a date, or a date with a time, such as `2026-12-24` and `2026-12-24T18:00+01:00`.
 * @param until written alike; a date alone includes that day.
 * @param zone an IANA time zone, for moments without one.
 * @throws {Error} with a message for the operator when one of them is no moment, or the period is empty.
 */
export function periodOf(from: string | undefined, until: string | undefined, zone: string): Period {
  const period = {
    from: from === undefined ? -Infinity : momentOf('from', from, zone).begins,
    until: until === undefined ? Infinity : momentOf('until', until, zone).ends,
  };
  if (period.from >= period.until) throw new Error(`it ends (${until}) before it begins (${from})`);
  return period;
}

/** The first moment of a date or minute, and for a date the first one after it. */
function momentOf(option: string, text: string, zone: string): { readonly begins: number; readonly ends: number } {
  const [, date = '', time, own] = form.exec(text) ?? [];
  const written = Date.parse(`${date}T${time ?? '00:00'}Z`);
  const at = own === undefined ? written : Date.parse(`${date}T${time}${own}`);
  // A day that no month has is read as one of the next month.
  if (Number.isNaN(written) || Number.isNaN(at) || !new Date(written).toISOString().startsWith(date))
    throw new Error(
      `\`${option}\`: expected a date such as "2026-12-24", or a date and time such as "2026-12-24T18:00", got ${JSON.stringify(text)}`,
    );
  if (own !== undefined) return { begins: at, ends: at };
  const begins = inZone(written, zone);
  return { begins, ends: time === undefined ? inZone(written + dayMs, zone) : begins };
}

/**
 * The moment at which the clocks of a zone show a time. Where they are set forward over it, the moment of the change; where they show it twice, the first one.
 * @param written the time as if it were one of UTC, in milliseconds since 1970.
 */
function inZone(written: number, zone: string): number {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const shownAt = (at: number): number => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return Date.parse(`${parts['year']}-${parts['month']}-${parts['day']}T${parts['hour']}:${parts['minute']}Z`);
  };
  // No zone differs from UTC by more than a day, and clocks go forward between two changes: the moment can be searched by halves.
  let [early, late] = [(written - dayMs) / minuteMs, (written + dayMs) / minuteMs];
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (shownAt(middle * minuteMs) < written) early = middle;
    else late = middle;
  }
  return late * minuteMs;
}
