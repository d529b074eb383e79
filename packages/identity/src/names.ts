/** Valid names: of a user, a group, a tenant, a program. */

/** C0, DEL, C1, and the line ends of Unicode. */
// oxlint-disable-next-line no-control-regex -- these characters are its subject.
const control = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/;

/**
 * Whether a text may be a name. Control characters make further lines of a log and move the cursor of a terminal; halves of surrogate pairs are all the same
 * in UTF-8, so two names would be one.
 */
export function isName(text: string): boolean {
  return text.isWellFormed() && !control.test(text);
}

/** Why a text is no name, for the end of a sentence. */
export const noName = 'has a control character, or half of a character';
