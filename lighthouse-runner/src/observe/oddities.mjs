/** What a page does beside loading: dialogs, windows, downloads, sockets. Each is answered so that loading goes on, and noted. */

const NOTES_MAX = 100;
const NOTE_CHARS = 500; // URLs can be whole files

export class Oddities {
  constructor() {
    this.notes = new Map(); // text -> how often
  }

  note(words) {
    const text = words.length > NOTE_CHARS ? `${words.slice(0, NOTE_CHARS)} ...` : words;
    if (this.notes.has(text) || this.notes.size < NOTES_MAX) this.notes.set(text, (this.notes.get(text) ?? 0) + 1);
  }

  /** The notes in order of their first time. */
  list() {
    return [...this.notes].map(([text, count]) => (count > 1 ? `${text} (${count} times)` : text));
  }

  /** On the browser's own connection: other windows are closed, and nothing is stored. */
  async watchBrowser(connection, ownTargetId) {
    connection.on('Target.targetCreated', ({targetInfo}) => {
      const {targetId, type, url} = targetInfo;
      if (type === 'service_worker') this.note(`it registers a service worker, which was left out: ${url}`);
      if (type !== 'page' || targetId === ownTargetId || !targetInfo.openerId) return;
      this.note('it opened another window, which was closed');
      connection.send('Target.closeTarget', {targetId}).catch(() => {});
    });
    connection.on('Browser.downloadWillBegin', ({url}) => this.note(`it began a download, which was refused: ${url}`));
    await connection.send('Target.setDiscoverTargets', {discover: true});
    await connection.send('Browser.setDownloadBehavior', {behavior: 'deny', eventsEnabled: true}).catch(() => {});
  }

  /** On a session of the page. */
  watchPage(session) {
    session.on('Page.javascriptDialogOpening', ({type}) => {
      this.note(`it opened a dialog (${type}), which was dismissed`);
      session.send('Page.handleJavaScriptDialog', {accept: type === 'beforeunload'}).catch(() => {});
    });
  }

  /** On any session: connections that are no requests. */
  watchNetwork(session) {
    session.on('Network.webSocketCreated', ({url}) => this.note(`it opens a web socket, which cannot be kept: ${url}`));
    session.on('Network.webTransportCreated', ({url}) => this.note(`it opens a WebTransport session, which cannot be kept: ${url}`));
  }
}
