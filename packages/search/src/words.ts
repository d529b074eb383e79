/** Text as the terms by which tools are found: split names, lower case, without stop words, stemmed (Porter's algorithm, package `stemmer`). */
import { stemmer } from 'stemmer';

/** Words without meaning for a tool. Verbs such as "get" stay: names of tools begin with them. */
const stopWords: ReadonlySet<string> = new Set(
  (
    'a also am an and any are as at be been being but by can could did do does doing don for from had has have having he help her here hers him his ' +
    'how i id if ill im in into is it its ive just let lets like ll may me might more most must my need no nor not now of off on once only or other ' +
    'our out over own please re same shall she should so some such than that the their them then there these they this those through to too under ' +
    'until up us use used using ve very want was we were what when where which while who whom why will with would you your'
  ).split(' '),
);

/**
 * Groups of words that a person and the author of a tool use for one act or thing: general English, none from a set of questions. A term of a query also
 * finds the others of its group, for less.
 */
const alike = [
  'find search get list look query retrieve fetch show read lookup check view obtain see tell locate return',
  'create add make new generate write insert build draw',
  'delete remove clear drop erase',
  'update edit modify change set replace rename adjust',
  'send post publish email message',
  'calculate compute evaluate determine estimate convert calc',
  'analyze analysis summarize report',
  'save store export download',
  'book reserve buy purchase order',
  'run execute launch start',
  'picture image photo pic',
  'movie film',
  'price cost rate quote',
  'weather forecast temperature temp',
  'path route direction navigation',
  'document file docx word doc documentation',
  'ppt powerpoint presentation slide',
  'excel spreadsheet workbook worksheet xlsx',
  'web website page url site',
  'repo repository',
  'stock share ticker company',
  'paper article publication',
  'train railway',
  'hotel accommodation listing lodging',
  'song music track',
  'town city',
  'doctor physician',
  'car vehicle',
  'flight airline airplane',
  'restaurant food dining eat',
  'dir directory folder',
  'info information detail',
  'config configuration setting',
  'db database',
];

/** Bound on stems that are remembered. */
const maxStems = 20_000;
const stems = new Map<string, string>();

/** Scripts without spaces between words, or with endings that a stemmer for English leaves on: pairs of their characters are terms. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const word = /[\p{L}\p{N}]+/gu;

function stemOf(text: string): string {
  const known = stems.get(text);
  if (known !== undefined) return known;
  if (stems.size >= maxStems) stems.clear();
  const stem = stemmer(text);
  stems.set(text, stem);
  return stem;
}

/** A name as words: `getUserByID2` as `get User By ID 2`, `list_files` as `list files`. */
export function splitName(name: string): string {
  return splitCase(name).replaceAll(/[_\-./]+/g, ' ');
}

function splitCase(text: string): string {
  return (
    text
      .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
      // One letter before the next word, and not all: a long run of capital letters would be read once for each of them.
      .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
      .replaceAll(/([A-Za-z])(\d)/g, '$1 $2')
      .replaceAll(/(\d)([A-Za-z])/g, '$1 $2')
  );
}

/** The terms of a text in its order. `getUserByID2` gives the same terms as `get user by id 2`. */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  const split = splitCase(text.normalize('NFKC')).toLowerCase();
  for (const [each] of split.matchAll(word)) {
    if (unspaced.test(each)) {
      const characters = Array.from(each);
      if (characters.length === 1) terms.push(each);
      for (let at = 0; at + 1 < characters.length; at += 1) terms.push(`${characters[at]}${characters[at + 1]}`);
    } else if (!stopWords.has(each)) terms.push(stemOf(each));
  }
  return terms;
}

/** By stem, the stems of the words that mean the same. */
const others: ReadonlyMap<string, readonly string[]> = groups();

function groups(): ReadonlyMap<string, readonly string[]> {
  const made = new Map<string, Set<string>>();
  for (const group of alike.map((words) => words.split(' ').map(stemOf)))
    for (const stem of group)
      made.set(stem, new Set([...(made.get(stem) ?? []), ...group.filter((other) => other !== stem)]));
  return new Map([...made].map(([stem, all]) => [stem, [...all]]));
}

const none: readonly string[] = [];

/** The terms that mean the same as a term. */
export function alikeOf(term: string): readonly string[] {
  return others.get(term) ?? none;
}

/** The sentences and lines of a question: a question often names several steps, each of which wants a tool of its own. */
export function clausesOf(text: string): string[] {
  return text.split(/\n+|(?<=[.!?;])\s+|(?<=[。！？；])/u).filter((clause) => clause.trim() !== '');
}
