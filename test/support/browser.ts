import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

/** Without a graphics card, and without anything that asks for the network by itself. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A page ends before code that is optimised for it pays.
  '--js-flags=--no-opt',
];

/** Browser of this test process: files that share it share the browser, whatever modules they load again. */
const BROWSER = Symbol.for('graticule.test.browser');
const kept = globalThis as unknown as Record<symbol, Promise<Browser> | undefined>;

/**
 * The browser of this test process, which starts for the first file. `close` closes the contexts that were made by this handle:
 * they share no cookies, caches or storage with others. The browser ends with the process.
 */
export async function launchBrowser(): Promise<Browser> {
  const launch = () =>
    chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ARGUMENTS });
  let browser = await (kept[BROWSER] ??= launch());
  if (!browser.isConnected()) browser = await (kept[BROWSER] = launch());
  const contexts = new Set<BrowserContext>();
  const own: Partial<Browser> = {
    async newContext(options) {
      const context = await browser.newContext(options);
      contexts.add(context);
      return context;
    },
    async newPage(options) {
      const page = await browser.newPage(options);
      contexts.add(page.context());
      return page;
    },
    async close() {
      await Promise.all([...contexts].map((context) => context.close()));
    },
  };
  return new Proxy(browser, { get: (target, name) => Reflect.get(name in own ? own : target, name) });
}

const ARTEFACTS = 'test/artefacts';

/**
 * Keeps a picture of a page for people to look at, under test/artefacts, where SCREENSHOTS is set. No test reads it, and a
 * picture of a whole page lays it out and draws its maps twice more.
 */
export async function savePicture(page: Page, name: string, fullPage = false): Promise<void> {
  if (!process.env['SCREENSHOTS']) return;
  mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage });
}

/** Milliseconds between two frames of pages whose maps stay blank. */
const FRAME_MS = 60;

/**
 * Lets the maps of pages do everything but fill triangles, which is half of their cost without a graphics card, and in a
 * quarter of the frames: for tests that look at no picture of a map. Where SCREENSHOTS is set, people do.
 */
export async function leaveMapsBlank(context: BrowserContext): Promise<void> {
  if (process.env['SCREENSHOTS']) return;
  await context.addInitScript(`
    for (const draw of ["drawElements", "drawArrays"]) WebGL2RenderingContext.prototype[draw] = () => {};
    window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), ${FRAME_MS});
    window.cancelAnimationFrame = clearTimeout;`);
}

/**
 * A page whose complaints are gathered: errors, warnings, failed requests, and requests to other servers. Its maps stay
 * blank.
 */
export interface WatchedPage {
  page: Page;
  problems: string[];
}

export async function watchedPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions,
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  // A loaded machine draws slowly.
  context.setDefaultTimeout(90_000);
  await leaveMapsBlank(context);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    // Rendering without a graphics card is slow, and the driver says so.
    if (message.text().includes('GPU stall due to ReadPixels')) return;
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== origin) problems.push(`leaves: ${url.href}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
  });
  return { page, problems };
}
