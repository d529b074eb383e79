/** Why a document, or one operation of it, cannot be used: the place in the document first, then the reason. */
export class DocumentProblem extends Error {
  constructor(place: string, reason: string) {
    super(place === '' ? reason : `${place}: ${reason}`);
  }
}
