// The widget: a chat in a foreign page.
//
//   <script src="https://chat.example.org/widget.js" data-agent="default"></script>        a bubble in the corner
//   <tertulia-chat mode="inline" agent="default" session="customer-42"></tertulia-chat>     where it stands in the page
//
// Attributes, with data- before them on the script: server, agent, session, token, mode (bubble, inline, page), heading,
// greeting, placeholder, accent, theme (light, dark, auto). Events on the element, which bubble: tertulia:ready,
// tertulia:open, tertulia:close, tertulia:message, tertulia:answer, tertulia:error. Its styles and the page's do not touch.
import { render } from 'preact';
import { Panel, type Look } from './panel.tsx';
import sheet from './widget.css?inline';
import { Visit } from './visit.ts';

const kAttributes = ['server', 'agent', 'session', 'token', 'mode', 'heading', 'greeting', 'placeholder', 'accent', 'theme'] as const;

const script = document.currentScript instanceof HTMLScriptElement ? document.currentScript : undefined;
const origin = script ? new URL(script.src, document.baseURI).origin : location.origin;

// A colour and nothing else: it becomes part of a style.
const asColour = (text: string | null): string | undefined =>
  text && /^(#[0-9a-f]{3,8}|[a-z]{3,20}|(rgb|hsl|oklch)\([0-9a-z%.,/ ]{3,60}\))$/i.test(text.trim()) ? text.trim() : undefined;

class TertuliaChat extends HTMLElement {
  static observedAttributes = kAttributes;
  private visit: Visit | undefined;
  private readonly shadow = this.attachShadow({ mode: 'open' });
  private readonly place = document.createElement('div');
  private connecting = false;
  private visits = 0;

  constructor() {
    super();
    const style = new CSSStyleSheet();
    style.replaceSync(sheet);
    this.shadow.adoptedStyleSheets = [style];
    this.shadow.append(this.place);
  }

  connectedCallback(): void {
    this.connect();
  }

  disconnectedCallback(): void {
    render(null, this.place);
    this.visit?.leave();
    this.visit = undefined;
  }

  // Several attributes that change together make one new visit. A token that is renewed begins none.
  attributeChangedCallback(name: string, _before: string | null, value: string | null): void {
    if (!this.isConnected || !this.visit) return;
    if (name === 'token') this.visit.renew(value ?? undefined);
    if (name === 'token' || this.connecting) return;
    this.connecting = true;
    queueMicrotask(() => {
      this.connecting = false;
      if (this.isConnected) this.connect();
    });
  }

  // For the host's own buttons.
  open(): void {
    this.dispatchEvent(new CustomEvent('tertulia:show', { detail: true }));
  }
  close(): void {
    this.dispatchEvent(new CustomEvent('tertulia:show', { detail: false }));
  }
  async send(text: string): Promise<void> {
    await this.visit?.open();
    await this.visit?.say(text);
  }

  private connect(): void {
    this.visit?.leave();
    const given = (name: (typeof kAttributes)[number]) => this.getAttribute(name) ?? undefined;
    const tell = (name: string, detail: Record<string, unknown>) =>
      this.dispatchEvent(new CustomEvent(`tertulia:${name}`, { detail, bubbles: true, composed: true }));
    const server = given('server') ?? origin;
    const agent = given('agent') ?? 'default';
    const session = given('session');
    this.visit = new Visit({ server, agent, ...(session && { session }) }, tell);
    this.visit.token = given('token');
    this.visits += 1;
    const mode = given('mode');
    const look: Look = {
      mode: mode === 'inline' || mode === 'page' ? mode : 'bubble',
      heading: given('heading') ?? 'Chat',
      greeting: given('greeting') ?? 'Hello! How can I help?',
      placeholder: given('placeholder') ?? 'Write a message',
    };
    const accent = asColour(this.getAttribute('accent'));
    if (accent) this.style.setProperty('--tertulia-accent', accent);
    this.place.className = `root ${look.mode}`;
    const theme = given('theme');
    this.place.dataset['theme'] = theme === 'light' || theme === 'dark' ? theme : 'auto';
    this.place.style.setProperty('--on-accent', readableOn(this.place));
    render(<Panel key={this.visits} host={this} visit={this.visit} look={look} tell={tell} />, this.place);
  }
}

// Black or white, whichever is easier to read on the accent, which may also come from the style sheet of the host.
function readableOn(place: HTMLElement): string {
  place.style.color = 'var(--accent)';
  const parts = getComputedStyle(place).color.match(/\d+(\.\d+)?/g)?.map(Number) ?? [];
  place.style.color = '';
  const [red = 0, green = 0, blue = 0] = parts.map((part) => ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.3 ? '#1c1712' : '#fff';
}

if (!customElements.get('tertulia-chat')) customElements.define('tertulia-chat', TertuliaChat);

// The script alone makes the bubble.
if (script?.dataset['agent'] !== undefined || script?.dataset['mode'] !== undefined) {
  const put = () => {
    const element = document.createElement('tertulia-chat');
    for (const name of kAttributes) {
      const value = script.dataset[name];
      if (value !== undefined) element.setAttribute(name, value);
    }
    document.body.append(element);
  };
  if (document.body) put();
  else document.addEventListener('DOMContentLoaded', put);
}
